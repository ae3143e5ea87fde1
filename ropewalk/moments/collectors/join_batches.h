#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;
class MomentsCollector;

// The batches of a measurement that several processes share, or one with more batches than blocks.
// Batch j of process p has the number p · batches + j and falls into block number modulo `blocks`.
struct SharedBatches {
  int64_t batches = 1;  // of each process, at most
  int64_t blocks = 1;
  std::vector<int64_t> documents{};  // by number; 0: it holds nothing, and nothing of it is sent

  // Numbers of this process's batches that hold documents.
  std::vector<int64_t> of_process(int64_t process) const;
  // Numbers that documents of a batch get, so that each lies in its block.
  std::vector<int64_t> document_numbers(int64_t number) const;
};

// Joins one layer: `mine` has batch j in its block j, `joint` (null but in the first process) gets
// the blocks of all. Each block goes from one process to the next one that has a batch of it, which
// adds its own, and from the last one to the first process. So a process sends what its own batches
// take, however many processes there are, and parts are added in the order of their numbers.
// Collective: of the processes whose batches hold documents, and the first one.
void join_batches(const SharedBatches& shared, int64_t layer, const MomentsCollector& mine,
                  MomentsCollector* joint, const Communicator& processes);

}  // namespace ropewalk
