#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;

// One measured value or row of values per document: tensor `document.NAME` of a file. Documents are
// identified by their index; their numbers are joined but never added, so that they are
// bit-identical whichever process read them.
struct DocumentValues {
  std::string name;   // "loss"
  at::Tensor values;  // [documents, …] float64, in the order of the documents' records
};

// Adds the values of more documents to a whole and drops those that one side lacks; then reorders
// the rows: row i becomes row order[i] of both together. Throws InputError where documents of one
// side have more numbers than those of the other.
void join_values(std::vector<DocumentValues>& whole, const std::vector<DocumentValues>& part,
                 const std::vector<int64_t>& order);

// Gathers in the first of `processes` what all of them measured, in the order of `all` (document
// indexes); each process has the documents `own`. The others' values are meaningless afterwards.
// Collective.
void gather_values(std::vector<DocumentValues>& values, std::span<const int64_t> own,
                   std::span<const int64_t> all, const Communicator& processes);

}  // namespace ropewalk
