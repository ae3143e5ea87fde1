#include "ropewalk/moments/block_counts.h"

#include <cstddef>
#include <numeric>

namespace ropewalk {

BlockCounts::BlockCounts(int64_t blocks)
    : documents(static_cast<std::size_t>(blocks)),
      tokens(static_cast<std::size_t>(blocks)),
      position_mean(static_cast<std::size_t>(blocks)),
      position_scatter(static_cast<std::size_t>(blocks)) {}

void BlockCounts::add_document(int64_t block, int64_t n, double mean, double scatter,
                               int64_t count) {
  BlockCounts document(1);
  document.documents[0] = count;
  document.tokens[0] = n;
  document.position_mean[0] = mean;
  document.position_scatter[0] = scatter;
  add_block(block, document, 0);
}

void BlockCounts::add_document(int64_t block, int64_t n) {
  const auto size = static_cast<double>(n);
  add_document(block, n, (size - 1) / 2, size * (size * size - 1) / 12);
}

void BlockCounts::add_block(int64_t block, const BlockCounts& other, int64_t from) {
  const auto b = static_cast<std::size_t>(block);
  const auto o = static_cast<std::size_t>(from);
  if (other.tokens[o] == 0) return;
  const auto mine = static_cast<double>(tokens[b]);
  const auto theirs = static_cast<double>(other.tokens[o]);
  const double all = mine + theirs;
  const double offset = other.position_mean[o] - position_mean[b];
  position_mean[b] += offset * theirs / all;
  position_scatter[b] += other.position_scatter[o] + offset * offset * mine * theirs / all;
  tokens[b] += other.tokens[o];
  documents[b] += other.documents[o];
}

void BlockCounts::add(const BlockCounts& other) {
  for (int64_t b = 0; b < blocks(); ++b) add_block(b, other, b);
}

TokenSet BlockCounts::set(int64_t block) const {
  const auto b = static_cast<std::size_t>(block);
  return {static_cast<double>(tokens[b]), position_mean[b]};
}

BlockCounts BlockCounts::joined() const {
  BlockCounts all(1);
  for (int64_t b = 0; b < blocks(); ++b) all.add_block(0, *this, b);
  return all;
}

int64_t BlockCounts::total_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
}

int64_t BlockCounts::total_documents() const {
  return std::accumulate(documents.begin(), documents.end(), int64_t{0});
}

}  // namespace ropewalk
