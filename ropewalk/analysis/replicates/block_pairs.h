#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// What is left of a stream without blocks i and j, for all pairs of i <= j: one block less where
// they are equal. Sums are about the mean of all tokens, so that leaving out is subtraction, and
// the mean of what is left costs one more rank.
class BlockPairs {
 public:
  explicit BlockPairs(const StreamInput& input);

  int64_t size() const { return first.size(0); }

  // Of pairs, as a square of blocks: [b, g, ..].
  at::Tensor square(const at::Tensor& of_pairs) const;

  // Each block's own products times the vectors of its pairs: [b, g, d].
  at::Tensor times_blocks(const at::Tensor& square) const {
    return times_products(square, products);
  }

  // What leaving out takes from the products of all, times the vectors of pairs, [pairs, d]: of
  // those pairs that are wanted.
  void times_taken(const at::Tensor& x, const std::vector<bool>& wanted, at::Tensor& taken);

  // The products of what is left, about its mean.
  at::Tensor left_products(const at::Tensor& total, int64_t pair) const;

  int64_t count;                                       // of blocks
  int64_t d;                                           // dimensions
  double all;                                          // tokens
  at::Tensor tokens, position_mean, position_scatter;  // [b]
  at::Tensor mean, position, products, sums;           // [b, ..]
  at::Tensor first, second;                            // blocks of a pair
  at::Tensor number;                                   // of a pair among pairs: [b, g]
  // Of what is left without a pair: [pairs, ..].
  at::Tensor left, inverse, left_sums, left_times, left_position, left_scatter;

 private:
  // Of blocks, the sum of a pair's; of one alone where both are the same.
  at::Tensor both(const at::Tensor& of_blocks) const;

  at::Tensor of_blocks_, times_blocks_;  // room for times_taken: [b, d], [b, g, d]
};

}  // namespace ropewalk
