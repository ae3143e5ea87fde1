#include "ropewalk/analysis/replicates/block_pairs.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/kernels/moments/rows.h"

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
      products(input.block_products.contiguous()),
      sums(tokens.unsqueeze(1) * mean) {
  const at::Tensor upper = at::triu_indices(count, count);
  first = upper[0], second = upper[1];
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
  of_blocks_ = at::empty({count, d}, at::kDouble);
  times_blocks_ = at::empty({count, count, d}, at::kDouble);
}

void BlockPairs::times_left_out(const at::Tensor& x, const std::vector<bool>& wanted,
                                at::Tensor& taken) {
  const int64_t* const pair_of = number.const_data_ptr<int64_t>();
  const auto want = [&](int64_t pair) { return wanted[static_cast<size_t>(pair)]; };
  // The index of each pair (b, b), in the order of b.
  std::vector<int64_t> index(static_cast<size_t>(count * count));
  for (int64_t b = 0; b < count; ++b) {
    int64_t rows = 0;
    for (int64_t g = 0; g < count; ++g) {
      const int64_t pair = pair_of[b * count + g];
      if (!want(pair)) continue;
      std::copy_n(row(x, pair), d, mutable_row(of_blocks_, rows));
      index[static_cast<size_t>(b * count + g)] = rows++;
    }
    multiply_rows(mutable_row(times_blocks_, b), of_blocks_.const_data_ptr<double>(), rows,
                  row(products, b), d);
  }
  const auto of_block = [&](int64_t b, int64_t g) {
    return row(times_blocks_, b) + index[static_cast<size_t>(b * count + g)] * d;
  };
  for (int64_t i = 0, pair = 0; i < count; ++i) {
    for (int64_t j = i; j < count; ++j, ++pair) {
      if (!want(pair)) continue;
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

at::Tensor BlockPairs::square(const at::Tensor& of_pairs) const {
  const at::Tensor from = of_pairs.contiguous();
  std::vector<int64_t> shape = from.sizes().vec();
  shape[0] = count;
  shape.insert(shape.begin(), count);
  at::Tensor found = at::empty(shape, at::kDouble);
  double* to = found.mutable_data_ptr<double>();
  const int64_t* const pair_of = number.const_data_ptr<int64_t>();
  const int64_t width = from.stride(0);
  for (int64_t i = 0; i < count * count; ++i, to += width) {
    std::copy_n(row(from, pair_of[i]), width, to);
  }
  return found;
}

at::Tensor BlockPairs::both(const at::Tensor& of_blocks) const {
  const at::Tensor from = of_blocks.contiguous();
  std::vector<int64_t> shape = from.sizes().vec();
  shape[0] = size();
  at::Tensor sum = at::empty(shape, at::kDouble);
  double* to = sum.mutable_data_ptr<double>();
  const int64_t width = from.stride(0);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = i; j < count; ++j, to += width) {
      std::copy_n(row(from, i), width, to);
      if (i != j) blend(to, 1, 1, row(from, j), width);
    }
  }
  return sum;
}

}  // namespace ropewalk
