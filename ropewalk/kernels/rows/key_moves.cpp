#include "ropewalk/kernels/rows/key_moves.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ropewalk/base/split_mix.h"

namespace ropewalk {
namespace {

enum class Use : uint64_t { lengths, order };

// A generator of random numbers for a document. Each pair of `use` and `which` has a generator of
// its own, so that two uses never share random numbers.
SplitMix random_numbers(uint64_t seed, Use use, int64_t which) {
  return SplitMix(
      SplitMix::joined(seed, 2 * static_cast<uint64_t>(which) + static_cast<uint64_t>(use)));
}

}  // namespace

int64_t shortest_run(int64_t keys) {
  constexpr int64_t kRuns = 64;
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(keys)));
  return std::max<int64_t>(1, power / kRuns);
}

std::vector<int64_t> key_runs(uint64_t seed, int64_t first, int64_t shortest, int64_t end) {
  SplitMix random = random_numbers(seed, Use::lengths, shortest);
  std::vector<int64_t> runs{first};
  while (runs.back() < end) runs.push_back(runs.back() + shortest + random.below(shortest));
  return runs;
}

std::vector<int64_t> run_moves(const std::vector<int64_t>& runs, uint64_t seed, int64_t from,
                               int64_t t) {
  const auto begin = [&](size_t run) { return std::max(runs[run], from); };
  const auto length = [&](size_t run) { return std::min(runs[run + 1], t + 1) - begin(run); };
  std::vector<size_t> order;
  for (size_t run = 0; run + 1 < runs.size(); ++run) {
    if (length(run) > 0) order.push_back(run);
  }
  SplitMix random = random_numbers(seed, Use::order, t);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<size_t>(random.below(static_cast<int64_t>(i)))]);
  }
  std::vector<int64_t> moves(runs.size() - 1, 0);
  int64_t index = std::max(runs.front(), from);
  for (const size_t run : order) {
    moves[run] = index - begin(run);
    index += length(run);
  }
  return moves;
}

}  // namespace ropewalk
