#include "ropewalk/moments/moments.h"

#include <numeric>

namespace ropewalk {

BlockCounts::BlockCounts(int64_t blocks)
    : documents(static_cast<size_t>(blocks)),
      tokens(static_cast<size_t>(blocks)),
      position_mean(static_cast<size_t>(blocks)),
      position_scatter(static_cast<size_t>(blocks)) {}

void BlockCounts::add_document(int64_t block, int64_t n) {
  BlockCounts document(1);
  const auto size = static_cast<double>(n);
  document.documents[0] = 1;
  document.tokens[0] = n;
  document.position_mean[0] = (size - 1) / 2;
  document.position_scatter[0] = size * (size * size - 1) / 12;  // of 0 … n - 1
  add_block(block, document, 0);
}

void BlockCounts::add_block(int64_t block, const BlockCounts& other, int64_t from) {
  const auto b = static_cast<size_t>(block);
  const auto o = static_cast<size_t>(from);
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

int64_t BlockCounts::total_tokens() const {
  return std::accumulate(tokens.begin(), tokens.end(), int64_t{0});
}

int64_t BlockCounts::total_documents() const {
  return std::accumulate(documents.begin(), documents.end(), int64_t{0});
}

StreamMoments::StreamMoments(int64_t streams, int64_t blocks, int64_t d)
    : mean(at::zeros({streams, blocks, d}, at::kDouble)),
      position(at::zeros({streams, blocks, d}, at::kDouble)),
      products(at::zeros({streams, blocks, d * (d + 1) / 2}, at::kDouble)) {}

MomentsView block_view(const StreamMoments& moments, int64_t block) {
  return {moments.mean.select(1, block), moments.position.select(1, block),
          moments.products.select(1, block)};
}

void join_moments(const MomentsView& whole, const TokenSet& whole_tokens, const MomentsView& part,
                  const TokenSet& part_tokens) {
  if (part_tokens.tokens == 0) return;
  const double all = whole_tokens.tokens + part_tokens.tokens;
  const double product = whole_tokens.tokens * part_tokens.tokens / all;
  const at::Tensor offset = part.mean - whole.mean;  // [streams, d]
  const double drift = part_tokens.position_mean - whole_tokens.position_mean;
  whole.position.add_(part.position).add_(offset, product * drift);
  whole.products.add_(part.products);
  if (product > 0) {
    whole.products.add_(pack_triangle(offset.unsqueeze(2) * offset.unsqueeze(1)), product);
  }
  whole.mean.add_(offset, part_tokens.tokens / all);
}

namespace {

// Places of the upper triangle in a flattened d x d matrix, by rows.
at::Tensor triangle_places(int64_t d) {
  const at::Tensor rows_columns = at::triu_indices(d, d);
  return rows_columns[0] * d + rows_columns[1];
}

}  // namespace

at::Tensor pack_triangle(const at::Tensor& matrices) {
  const int64_t d = matrices.size(-1);
  return matrices.flatten(-2).index_select(-1, triangle_places(d).to(matrices.device()));
}

at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d) {
  std::vector<int64_t> shape(packed.sizes().begin(), packed.sizes().end());
  shape.back() = d * d;
  const at::Tensor flat = at::zeros(shape, packed.options());
  flat.index_copy_(-1, triangle_places(d).to(packed.device()), packed);
  shape.back() = d;
  shape.push_back(d);
  const at::Tensor upper = flat.view(shape);
  return upper + upper.transpose(-2, -1) - at::diag_embed(upper.diagonal(0, -2, -1));
}

}  // namespace ropewalk
