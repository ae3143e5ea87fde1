#include "ropewalk/moments/moments.h"

#include <ATen/Dispatch.h>

#include <algorithm>
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

namespace {

// The numbers of one stream; each tensor is [streams, numbers] with those side by side.
template <typename T>
T* row_of(const at::Tensor& tensor, int64_t stream) {
  return tensor.mutable_data_ptr<double>() + stream * tensor.stride(0);
}

}  // namespace

void join_moments(const MomentsView& whole, const TokenSet& whole_tokens, const MomentsView& joined,
                  const TokenSet& part_tokens) {
  if (part_tokens.tokens == 0) return;
  const MomentsView part{joined.mean.to(at::kDouble), joined.position.to(at::kDouble),
                         joined.products.to(at::kDouble)};  // blocks of a file are float32
  const double all = whole_tokens.tokens + part_tokens.tokens;
  const double product = whole_tokens.tokens * part_tokens.tokens / all;
  const double drift = part_tokens.position_mean - whole_tokens.position_mean;
  const int64_t d = whole.mean.size(1);
  at::parallel_for(0, whole.mean.size(0), 1, [&](int64_t begin, int64_t end) {
    std::vector<double> offset(static_cast<size_t>(d));
    for (int64_t stream = begin; stream < end; ++stream) {
      double* mean = row_of<double>(whole.mean, stream);
      double* position = row_of<double>(whole.position, stream);
      double* products = row_of<double>(whole.products, stream);
      const double* part_mean = row_of<const double>(part.mean, stream);
      const double* part_position = row_of<const double>(part.position, stream);
      const double* part_products = row_of<const double>(part.products, stream);
      for (int64_t i = 0; i < d; ++i) {
        const double away = part_mean[i] - mean[i];
        offset[static_cast<size_t>(i)] = away;
        position[i] += part_position[i] + away * (product * drift);
        mean[i] += away * (part_tokens.tokens / all);
      }
      for (int64_t i = 0; i < d; ++i) {
        const double weighted = product * offset[static_cast<size_t>(i)];
        for (int64_t j = i; j < d; ++j) {
          *products++ += *part_products++ + weighted * offset[static_cast<size_t>(j)];
        }
      }
    }
  });
}

namespace {

// Calls copy(matrix, packed) with pointers to each matrix's d x d and d(d+1)/2 numbers.
template <typename Copy>
void for_triangles(const at::Tensor& matrices, const at::Tensor& packed, Copy copy) {
  const int64_t d = matrices.size(-1);
  AT_DISPATCH_FLOATING_TYPES(matrices.scalar_type(), "triangle", [&] {
    auto* matrix = matrices.mutable_data_ptr<scalar_t>();
    auto* triangle = packed.mutable_data_ptr<scalar_t>();
    for (int64_t m = 0; m < matrices.numel() / (d * d); ++m) {
      for (int64_t i = 0; i < d; ++i) {
        copy(matrix + i * d + i, triangle, d - i, d);
        triangle += d - i;
      }
      matrix += d * d;
    }
  });
}

}  // namespace

at::Tensor pack_triangle(const at::Tensor& matrices) {
  const int64_t d = matrices.size(-1);
  std::vector<int64_t> shape(matrices.sizes().begin(), matrices.sizes().end() - 2);
  shape.push_back(d * (d + 1) / 2);
  at::Tensor packed = at::empty(shape, matrices.options());
  for_triangles(matrices.contiguous(), packed, [](auto* diagonal, auto* row, int64_t n, int64_t) {
    std::copy_n(diagonal, n, row);
  });
  return packed;
}

at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d) {
  std::vector<int64_t> shape(packed.sizes().begin(), packed.sizes().end() - 1);
  shape.insert(shape.end(), {d, d});
  at::Tensor matrices = at::empty(shape, packed.options());
  for_triangles(matrices, packed.contiguous(),
                [](auto* diagonal, auto* row, int64_t n, int64_t down) {
                  for (int64_t j = 0; j < n; ++j) diagonal[j] = diagonal[j * down] = row[j];
                });
  return matrices;
}

}  // namespace ropewalk
