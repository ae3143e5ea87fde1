#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/token_set.h"

namespace ropewalk {

// Counts and positions of blocks of documents; a document says which block is its own
// (Document::block). Every stream of vectors sees every token, so these are a block's, not a
// stream's.
struct BlockCounts {
  std::vector<int64_t> documents;
  std::vector<int64_t> tokens;
  std::vector<double> position_mean;     // of t
  std::vector<double> position_scatter;  // sum of (t - mean)^2

  explicit BlockCounts(int64_t blocks = 0);
  int64_t blocks() const { return static_cast<int64_t>(tokens.size()); }
  // Adds a document, or several together, with these positions; of 0 … n - 1.
  void add_document(int64_t block, int64_t n, double mean, double scatter, int64_t count = 1);
  void add_document(int64_t block, int64_t n);
  // Adds block `from` of another.
  void add_block(int64_t block, const BlockCounts& other, int64_t from);
  // Adds all blocks of another to the same blocks here.
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
