#pragma once

#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/moments/block_counts.h"

namespace ropewalk {

class Communicator;

// A layer's numbers: all of them in a row, and as the fields of each accumulator, [streams, blocks,
// width].
struct FlatFields {
  at::Tensor numbers;
  std::vector<std::vector<at::Tensor>> fields;
};

// Joins the numbers and counts of all `processes` in the first one; the others' are meaningless
// afterwards. Pairs of processes are joined, then pairs of pairs. A block that only one process has
// read comes out bit for bit as that process had it. `room` is scratch for another process's
// numbers. Collective.
void join_processes(const Communicator& processes, const FlatFields& mine, BlockCounts& counts,
                    const FlatFields& room);

}  // namespace ropewalk
