#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;
class MomentsCollector;

// The batches of a measurement that several processes share, or that has more batches than blocks.
// Batch j of process p has the number p · batches + j and belongs to the block of that number
// modulo `blocks`.
struct SharedBatches {
  int64_t batches = 1;  // of each process, at most
  int64_t blocks = 1;
  std::vector<int64_t> documents{};  // by number; 0: the batch is empty, and nothing of it is sent

  // The numbers of a process's batches that hold documents.
  std::vector<int64_t> of_process(int64_t process) const;
  // The numbers for the documents of a batch, chosen such that each belongs to the batch's block.
  std::vector<int64_t> document_numbers(int64_t number) const;
};

// Joins one layer: `mine` has batch j in its block j, `joint` (null except in the first process)
// receives the blocks of all processes. Each block travels from one process to the next that has a
// batch of it, which adds its own, and from the last one to the first process. So a process sends
// no more than its own batches take, however many processes there are, and parts are added in the
// order of their numbers. Collective among the processes whose batches hold documents, and the
// first one.
void join_batches(const SharedBatches& shared, int64_t layer, const MomentsCollector& mine,
                  MomentsCollector* joint, const Communicator& processes);

}  // namespace ropewalk
