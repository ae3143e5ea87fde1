#include "ropewalk/moments/joint_moments.h"

#include <span>

#include "ropewalk/base/processes.h"

namespace ropewalk {
namespace {

std::span<double> numbers_of(const at::Tensor& contiguous) {
  return {contiguous.mutable_data_ptr<double>(), static_cast<size_t>(contiguous.numel())};
}

// Counts stay far below 2^53, where float64 is exact.
std::vector<int64_t> sum_counts(const std::vector<int64_t>& mine) {
  std::vector<double> sums(mine.begin(), mine.end());
  processes::sum(sums);
  return {sums.begin(), sums.end()};
}

// The share of a block's tokens that this process has read.
double share_of(const BlockCounts& mine, const BlockCounts& all, size_t block) {
  if (all.tokens[block] == 0) return 0;
  return static_cast<double>(mine.tokens[block]) / static_cast<double>(all.tokens[block]);
}

}  // namespace

BlockCounts joint_counts(const BlockCounts& mine) {
  if (processes::count() == 1) return mine;
  BlockCounts all(mine.blocks());
  all.documents = sum_counts(mine.documents);
  all.tokens = sum_counts(mine.tokens);
  const size_t blocks = mine.tokens.size();
  for (size_t b = 0; b < blocks; ++b) {
    all.position_mean[b] = share_of(mine, all, b) * mine.position_mean[b];
  }
  processes::sum(all.position_mean);
  for (size_t b = 0; b < blocks; ++b) {
    const double drift = mine.position_mean[b] - all.position_mean[b];
    all.position_scatter[b] =
        mine.position_scatter[b] + static_cast<double>(mine.tokens[b]) * drift * drift;
  }
  processes::sum(all.position_scatter);
  return all;
}

void join_in_first(const StreamMoments& moments, const BlockCounts& mine, const BlockCounts& all) {
  if (processes::count() == 1) return;
  const at::Tensor own_mean = moments.mean.clone();  // [streams, blocks, d]
  for (int64_t b = 0; b < mine.blocks(); ++b) {
    moments.mean.select(1, b).mul_(share_of(mine, all, static_cast<size_t>(b)));
  }
  processes::sum(numbers_of(moments.mean));
  for (int64_t b = 0; b < mine.blocks(); ++b) {
    const auto place = static_cast<size_t>(b);
    if (mine.tokens[place] == 0) continue;
    const auto tokens = static_cast<double>(mine.tokens[place]);
    const double drift = mine.position_mean[place] - all.position_mean[place];
    const MomentsView block = block_view(moments, b);
    const at::Tensor offset = own_mean.select(1, b) - block.mean;  // [streams, d]
    block.position.add_(offset, tokens * drift);
    block.products.add_(pack_triangle(offset.unsqueeze(2) * offset.unsqueeze(1)), tokens);
  }
  processes::sum_in_first(numbers_of(moments.position));
  processes::sum_in_first(numbers_of(moments.products));
}

}  // namespace ropewalk
