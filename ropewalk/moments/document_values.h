#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;

// What a pass measured of each document: tensor `document.NAME` of a file. Documents are told apart
// by their index; their numbers are joined and never added up, so that they stay the same bits
// whoever read which of them.
struct DocumentValues {
  std::string name;   // "loss"
  at::Tensor values;  // [documents, …] float64, in the order of the documents' records
};

// Adds those of more documents to a whole, less what one of them lacks; then puts the rows into
// another order: row i becomes what was row order[i] of both. Throws InputError where documents of
// one have more numbers than those of the other.
void join_values(std::vector<DocumentValues>& whole, const std::vector<DocumentValues>& part,
                 const std::vector<int64_t>& order);

// In the first of `processes`, what all of them measured, in the order of `all` (indexes of
// documents); each has the documents `own`. The others' values mean nothing afterwards. Collective.
void gather_values(std::vector<DocumentValues>& values, std::span<const int64_t> own,
                   std::span<const int64_t> all, const Communicator& processes);

}  // namespace ropewalk
