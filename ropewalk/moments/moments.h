#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Moments of streams in blocks of documents; a document says which is its own (Document::block).
// Every stream sees every token, so counts and positions are a block's, not a
// stream's. Moments are about the block's own mean: n, mean and centred sums of a union follow from
// those of its parts exactly (Chan, Golub & LeVeque 1983), and no digit is lost where a mean
// exceeds its spread.

// Counts and positions of each block.
struct BlockCounts {
  std::vector<int64_t> documents;
  std::vector<int64_t> tokens;
  std::vector<double> position_mean;     // of t
  std::vector<double> position_scatter;  // sum of (t - mean)^2

  explicit BlockCounts(int64_t blocks = 0);
  int64_t blocks() const { return static_cast<int64_t>(tokens.size()); }
  // Adds a document of positions 0 … n - 1.
  void add_document(int64_t block, int64_t n);
  // Adds block `from` of another.
  void add_block(int64_t block, const BlockCounts& other, int64_t from);
  int64_t total_tokens() const;
  int64_t total_documents() const;

  bool operator==(const BlockCounts&) const = default;
};

// Moments of some streams, each in each block; float64 on the CPU.
struct StreamMoments {
  at::Tensor mean;      // [streams, blocks, d]
  at::Tensor position;  // [streams, blocks, d]: sum of (x - mean)(t - mean t)
  at::Tensor products;  // [streams, blocks, d(d+1)/2]: sum of (x - mean)(x - mean)^T, upper
                        // triangle by rows

  StreamMoments() = default;
  StreamMoments(int64_t streams, int64_t blocks, int64_t d);
  bool defined() const { return mean.defined(); }
  int64_t streams() const { return mean.size(0); }
  int64_t d() const { return mean.size(2); }
};

// A set of n tokens to be joined to another: what the joining formulas need beside the moments.
struct TokenSet {
  double tokens = 0;
  double position_mean = 0;
};

// Joins `part` (moments [streams, d], [streams, d], [streams, d(d+1)/2]) into `whole` in place.
struct MomentsView {
  at::Tensor mean;
  at::Tensor position;
  at::Tensor products;
};
void join_moments(const MomentsView& whole, const TokenSet& whole_tokens, const MomentsView& part,
                  const TokenSet& part_tokens);

// The moments of block b of every stream, as views that write through.
MomentsView block_view(const StreamMoments& moments, int64_t block);

// Upper triangle of [.., d, d], by rows: [.., d(d+1)/2]; and back to the full symmetric matrix.
at::Tensor pack_triangle(const at::Tensor& matrices);
at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d);

}  // namespace ropewalk
