#include "ropewalk/analysis/analyze/analyze_streams.h"

#include <algorithm>
#include <atomic>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"

namespace ropewalk {
namespace {

// The index at which each group of heads with shared keys begins, and the end.
std::vector<size_t> group_bounds(const std::vector<HeadId>& heads) {
  std::vector<size_t> bounds;
  for (size_t i = 0; i < heads.size(); ++i) {
    const bool same =
        i > 0 && heads[i].layer == heads[i - 1].layer && heads[i].kv_head == heads[i - 1].kv_head;
    if (!same) bounds.push_back(i);
  }
  bounds.push_back(heads.size());
  return bounds;
}

// Tokens of each block, queries and keys together.
std::vector<double> block_sizes(const StreamInput& q, const StreamInput& k) {
  std::vector<double> sizes;
  for (size_t b = 0; b < q.block_tokens.size(); ++b) {
    sizes.push_back(q.block_tokens[b] + k.block_tokens[b]);
  }
  return sizes;
}

// How many cores work. The number of blocks is taken from the first head; all heads have the same.
int64_t working_cores(const StreamSource& source, int64_t memory) {
  const int64_t cores = at::get_num_threads();
  if (memory == kAnyMemory || source.heads.empty()) return cores;
  const StreamInput first = source.keys(source.heads.front());
  const auto blocks = static_cast<int64_t>(first.block_tokens.size());
  return std::clamp<int64_t>(memory / group_bytes(blocks, first.mean.size(0)), 1, cores);
}

}  // namespace

// Measured: the products of each block of queries and keys, the products that remain without it,
// and some vectors for every pair of blocks.
int64_t group_bytes(int64_t blocks, int64_t d_head) {
  constexpr int64_t kMatrices = 12, kVectors = 8, kBytes = 8;
  return kBytes * d_head *
         (kMatrices * (blocks + 1) * d_head + kVectors * (blocks + 1) * (blocks + 1));
}

void analyze_streams(CheckpointTable& checkpoint, const StreamSource& source, int64_t components,
                     int64_t memory) {
  const std::vector<size_t> bounds = group_bounds(source.heads);
  std::vector<CheckpointTable> groups(bounds.size() - 1);
  // The eigenproblems of one head are small and solved on one core. Some layers take longer than
  // others, so every core takes the next group as soon as it is free.
  std::atomic<size_t> next = 0;
  at::parallel_for(0, working_cores(source, memory), 1, [&](int64_t, int64_t) {
    const c10::InferenceMode no_autograd;
    for (size_t g = next++; g < groups.size(); g = next++) {
      throw_if_interrupted();
      groups[g].random = checkpoint.random;
      const StreamInput k = source.keys(source.heads[bounds[g]]);
      const StreamReplicates keys = leave_one_out(k);
      for (size_t i = bounds[g]; i < bounds[g + 1]; ++i) {
        throw_if_interrupted();
        const HeadId& id = source.heads[i];
        const StreamInput q = source.queries(id);
        if (q.mean.size(0) != k.mean.size(0)) {
          throw InputError(
              "{}: queries of layer {} head {} have {} dimensions, but its keys have {}",
              source.name, id.layer, id.q_head, q.mean.size(0), k.mean.size(0));
        }
        add_head(
            groups[g], id,
            make_replicates(leave_one_out(q), keys, components, source.units.in_layer(id.layer)),
            block_sizes(q, k));
      }
    }
  });
  for (const CheckpointTable& group : groups) append_heads(checkpoint, group);
  finish_series(checkpoint);
}

}  // namespace ropewalk
