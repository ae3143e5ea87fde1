#pragma once

#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/moments/block_counts.h"

namespace ropewalk {

class Communicator;

// A layer's numbers: all of them, and as the fields of each accumulator, [streams, blocks, width].
struct FlatFields {
  at::Tensor numbers;
  std::vector<std::vector<at::Tensor>> fields;
};

// Makes the first process's numbers and counts those of all `processes` together;
// the others' mean nothing afterwards. Pairs of processes are joined, then pairs of pairs. A block
// that one process alone has read comes out bit for bit as that process had it. `room` holds
// another process's. Collective.
void join_processes(const Communicator& processes, const FlatFields& mine, BlockCounts& counts,
                    const FlatFields& room);

}  // namespace ropewalk
