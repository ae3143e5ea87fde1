#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// The moments of a stream without blocks i and j, for all pairs i <= j; where i = j, only one block
// is left out. Sums are taken about the mean of all tokens, so that leaving out a block is a
// subtraction. Moving them to the mean of the remaining tokens is an update of rank one.
class BlockPairs {
 public:
  explicit BlockPairs(const StreamInput& input);

  int64_t size() const { return first.size(0); }

  // Arranges values of pairs as a square of blocks: [b, g, ..].
  at::Tensor square(const at::Tensor& of_pairs) const;

  // The products of each block b times the vectors of its pairs (b, g): [b, g, d].
  at::Tensor times_blocks(const at::Tensor& square) const {
    return times_products(square, products);
  }

  // Multiplies the vectors of the wanted pairs, [pairs, d], by the products that leaving out the
  // pair's blocks subtracts.
  void times_left_out(const at::Tensor& x, const std::vector<bool>& wanted, at::Tensor& taken);

  // The products without a pair's blocks, about the mean of the remaining tokens.
  at::Tensor left_products(const at::Tensor& total, int64_t pair) const;

  int64_t count;                                       // number of blocks
  int64_t d;                                           // dimensions
  double all;                                          // tokens of all blocks
  at::Tensor tokens, position_mean, position_scatter;  // [b]
  at::Tensor mean, position, products, sums;           // [b, ..]
  at::Tensor first, second;                            // the two blocks of each pair
  at::Tensor number;                                   // index of the pair (b, g): [b, g]
  // Moments without the blocks of a pair: [pairs, ..].
  at::Tensor left, inverse, left_sums, left_times, left_position, left_scatter;

 private:
  // Sums a value of blocks over the two blocks of each pair; where both are the same block, it
  // counts once.
  at::Tensor both(const at::Tensor& of_blocks) const;

  at::Tensor of_blocks_, times_blocks_;  // buffers of times_left_out: [b, d], [b, g, d]
};

}  // namespace ropewalk
