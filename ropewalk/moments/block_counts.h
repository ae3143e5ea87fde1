#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/token_set.h"

namespace ropewalk {

// Counts and positions of blocks of documents; Document::block() gives a document's block. Every
// stream of vectors sees every token, so these numbers belong to a block, not to a stream.
struct BlockCounts {
  std::vector<int64_t> documents;
  std::vector<int64_t> tokens;
  std::vector<double> position_mean;     // mean of t
  std::vector<double> position_scatter;  // sum of (t - mean)^2

  explicit BlockCounts(int64_t blocks = 0);
  int64_t blocks() const { return static_cast<int64_t>(tokens.size()); }
  // Adds `count` documents of `n` tokens together with these positions; the second form adds one
  // document with positions 0 … n - 1.
  void add_document(int64_t block, int64_t n, double mean, double scatter, int64_t count = 1);
  void add_document(int64_t block, int64_t n);
  // Adds block `from` of another object.
  void add_block(int64_t block, const BlockCounts& other, int64_t from);
  // Adds all blocks of another object to the same blocks here.
  void add(const BlockCounts& other);
  // The tokens of one block.
  TokenSet set(int64_t block) const;
  // All blocks as one.
  BlockCounts joined() const;
  int64_t total_tokens() const;
  int64_t total_documents() const;

  bool operator==(const BlockCounts&) const = default;
};

}  // namespace ropewalk
