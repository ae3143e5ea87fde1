#include "ropewalk/analysis/block_pairs.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/tensor_rows.h"
#include "ropewalk/kernels/rows.h"

namespace ropewalk {
namespace {

at::Tensor vector(const std::vector<double>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kDouble));
}

}  // namespace

BlockPairs::BlockPairs(const StreamInput& input)
    : count(static_cast<int64_t>(input.block_tokens.size())),
      d(input.mean.size(0)),
      all(input.tokens),
      tokens(vector(input.block_tokens)),
      position_mean(vector(input.block_position_mean) - input.position_mean),
      position_scatter(vector(input.block_position_scatter)),
      mean((input.block_mean - input.mean).contiguous()),
      position(input.block_position),
      products(input.block_products),
      sums(tokens.unsqueeze(1) * mean) {
  const at::Tensor upper = at::triu_indices(count, count);
  first = upper[0], second = upper[1];
  once_ = at::where(first == second, 0.5, 1.0).to(at::kDouble);
  number = at::empty({count, count}, at::kLong);
  const at::Tensor numbers = at::arange(first.size(0));
  number.index_put_({first, second}, numbers);
  number.index_put_({second, first}, numbers);
  const at::Tensor times = tokens * position_mean;
  left = input.tokens - both(tokens);
  inverse = at::where(left > 0, 1 / left, at::zeros_like(left));
  left_sums = -both(sums);
  left_times = -both(times);
  left_position = input.position - both(position + sums * position_mean.unsqueeze(1)) -
                  left_sums * (left_times * inverse).unsqueeze(1);
  left_scatter = input.position_scatter - both(position_scatter + times * position_mean) -
                 left_times.square() * inverse;
  of_blocks_ = at::empty({count, count, d}, at::kDouble);
  times_blocks_ = at::empty_like(of_blocks_);
}

void BlockPairs::times_taken(const at::Tensor& x, at::Tensor& taken) {
  const int64_t* const pair_of = number.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < count * count; ++i) {
    std::copy_n(row(x, pair_of[i]), d, of_blocks_.mutable_data_ptr<double>() + i * d);
  }
  at::bmm_out(times_blocks_, of_blocks_, products);
  const auto of_block = [&](int64_t b, int64_t g) {
    return times_blocks_.const_data_ptr<double>() + (b * count + g) * d;
  };
  for (int64_t i = 0, pair = 0; i < count; ++i) {
    for (int64_t j = i; j < count; ++j, ++pair) {
      const double* const one = row(x, pair);
      double* const to = mutable_row(taken, pair);
      std::copy_n(of_block(i, j), d, to);
      blend(to, 1, dot(row(mean, i), one, d), row(sums, i), d);
      if (i != j) {
        blend(to, 1, 1, of_block(j, i), d);
        blend(to, 1, dot(row(mean, j), one, d), row(sums, j), d);
      }
      const double* const gone = row(left_sums, pair);
      blend(to, 1, dot(gone, one, d) * *row(inverse, pair), gone, d);
    }
  }
}

at::Tensor BlockPairs::left_products(const at::Tensor& total, int64_t pair) const {
  const int64_t i = first[pair].item<int64_t>(), j = second[pair].item<int64_t>();
  const auto taken = [&](int64_t b) { return products[b] + at::outer(sums[b], mean[b]); };
  at::Tensor result = total - taken(i);
  if (i != j) result -= taken(j);
  return result.sub_(at::outer(left_sums[pair], left_sums[pair]) * inverse[pair]);
}

at::Tensor BlockPairs::both(const at::Tensor& of_blocks) const {
  const at::Tensor sum = of_blocks.index({first}) + of_blocks.index({second});
  return of_blocks.dim() == 1 ? sum * once_ : sum * once_.unsqueeze(1);
}

}  // namespace ropewalk
