#include "ropewalk/kernels/moments/moments.h"

#include <ATen/Dispatch.h>

#include <algorithm>
#include <vector>

#include "ropewalk/kernels/moments/head_rows.h"
#include "ropewalk/kernels/moments/moments_cpu.h"

namespace ropewalk {
namespace {

// The moments of one stream.
template <typename T>
struct Row {
  T* mean;
  T* position;
  T* products;
};

template <typename T>
Row<T> row_of(const Moments& moments, int64_t stream) {
  const auto at = [stream](const at::Tensor& tensor) -> T* {
    return tensor.mutable_data_ptr<double>() + stream * tensor.stride(0);
  };
  return {at(moments.mean), at(moments.position), at(moments.products)};
}

// The formula that joins two parts. `offset` is scratch for d numbers.
void join_row(const Row<double>& whole, const TokenSet& whole_tokens, const Row<const double>& part,
              const TokenSet& part_tokens, std::vector<double>& offset) {
  const double all = whole_tokens.tokens + part_tokens.tokens;
  const double product = whole_tokens.tokens * part_tokens.tokens / all;
  const double drift = part_tokens.position_mean - whole_tokens.position_mean;
  const size_t d = offset.size();
  for (size_t i = 0; i < d; ++i) {
    offset[i] = part.mean[i] - whole.mean[i];
    whole.position[i] += part.position[i] + offset[i] * (product * drift);
    whole.mean[i] += offset[i] * (part_tokens.tokens / all);
  }
  double* products = whole.products;
  const double* part_products = part.products;
  for (size_t i = 0; i < d; ++i) {
    const double weighted = product * offset[i];
    for (size_t j = i; j < d; ++j) *products++ += *part_products++ + weighted * offset[j];
  }
}

// The number of tokens that are multiplied in float32 before float64 takes over; a chunk of one
// head stays in a core's cache.
constexpr int64_t kChunk = 512;

// The moments of each chunk of each head, float32.
struct Chunks {
  at::Tensor mean;      // [heads, chunks, d], rounded
  at::Tensor rest;      // [heads, chunks, d]: sum of x - mean
  at::Tensor position;  // [heads, chunks, d]: sum of (x - mean)(t - middle)
  at::Tensor products;  // [heads, chunks, d, d]: sum of (x - mean)(x - mean)^T, its upper half

  ChunkMoments at(int64_t slot) const {
    const auto data_of = [slot](const at::Tensor& tensor) {
      return tensor.mutable_data_ptr<float>() + slot * tensor.stride(1);
    };
    return {data_of(mean), data_of(rest), data_of(position), data_of(products)};
  }
};

// One chunk of a head in float64. Its mean was rounded to float32; the rest is added back here.
class ChunkRow {
 public:
  explicit ChunkRow(int64_t d)
      : d_(static_cast<size_t>(d)),
        rest_(d_),
        mean_(d_),
        position_(d_),
        products_(d_ * (d_ + 1) / 2) {}

  Row<const double> read(const Chunks& chunks, int64_t slot, double tokens) {
    const ChunkMoments chunk = chunks.at(slot);
    for (size_t i = 0; i < d_; ++i) {
      position_[i] = chunk.position[i];
      rest_[i] = chunk.rest[i];
      mean_[i] = chunk.mean[i] + rest_[i] / tokens;
    }
    double* packed = products_.data();
    for (size_t i = 0; i < d_; ++i) {
      const double mean_rest = rest_[i] / tokens;
      for (size_t j = i; j < d_; ++j) *packed++ = chunk.products[i * d_ + j] - mean_rest * rest_[j];
    }
    return {mean_.data(), position_.data(), products_.data()};
  }

 private:
  size_t d_;
  std::vector<double> rest_;
  std::vector<double> mean_;
  std::vector<double> position_;
  std::vector<double> products_;
};

}  // namespace

void join_moments(const Moments& whole, const TokenSet& whole_tokens, const Moments& joined,
                  const TokenSet& part_tokens) {
  if (part_tokens.tokens == 0) return;
  const Moments part{joined.mean.to(at::kDouble), joined.position.to(at::kDouble),
                     joined.products.to(at::kDouble)};  // blocks read from a file are float32
  // The number of streams that a thread takes at a time: enough to be worth waking it.
  const int64_t grain = at::divup(32768, whole.products.size(1));
  at::parallel_for(0, whole.mean.size(0), grain, [&](int64_t begin, int64_t end) {
    std::vector<double> offset(static_cast<size_t>(whole.mean.size(1)));
    for (int64_t stream = begin; stream < end; ++stream) {
      join_row(row_of<double>(whole, stream), whole_tokens, row_of<const double>(part, stream),
               part_tokens, offset);
    }
  });
}

Moments document_moments(const at::Tensor& x, const Positions& positions) {
  const int64_t heads = x.size(0);
  const int64_t tokens = x.size(1);
  const int64_t d = x.size(2);
  const int64_t chunks = (tokens + kChunk - 1) / kChunk;
  const auto options = at::TensorOptions().dtype(at::kFloat);
  const auto empty = [&](at::IntArrayRef shape) { return at::empty(shape, options); };
  const Chunks parts{empty({heads, chunks, d}), empty({heads, chunks, d}),
                     empty({heads, chunks, d}), empty({heads, chunks, d, d})};
  const Positions::Chunks& chunked = positions.chunks(kChunk, at::kCPU);
  const HeadRows vectors(x);
  const auto* from_middle = chunked.offset.const_data_ptr<float>();
  at::parallel_for(0, heads * chunks, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> room(static_cast<size_t>(chunk_room(std::min(kChunk, tokens), d)));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = i % chunks * kChunk;
      const int64_t to = std::min(from + kChunk, tokens);
      multiply_chunk({vectors.rows(i / chunks, from, to), d, from_middle + from}, room.data(),
                     parts.at(i));
    }
  });

  const auto wide = at::TensorOptions().dtype(at::kDouble);
  const Moments result{at::zeros({heads, d}, wide), at::zeros({heads, d}, wide),
                       at::zeros({heads, d * (d + 1) / 2}, wide)};
  const double* middle = chunked.middle.const_data_ptr<double>();
  at::parallel_for(0, heads, 1, [&](int64_t begin, int64_t end) {
    ChunkRow row(d);
    std::vector<double> offset(static_cast<size_t>(d));
    for (int64_t head = begin; head < end; ++head) {
      TokenSet joined;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        const auto size = static_cast<double>(std::min(kChunk, tokens - chunk * kChunk));
        const TokenSet part{size, middle[chunk]};
        join_row(row_of<double>(result, head), joined, row.read(parts, head * chunks + chunk, size),
                 part, offset);
        joined.tokens += size;
        joined.position_mean += (part.position_mean - joined.position_mean) * size / joined.tokens;
      }
    }
  });
  return result;
}

int64_t document_moments_workspace(int64_t heads, int64_t tokens, int64_t d) {
  const int64_t chunks = (tokens + kChunk - 1) / kChunk;
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  constexpr auto kDouble = static_cast<int64_t>(sizeof(double));
  return heads * d * d * (chunks * kSingle + 2 * kDouble);
}

at::Tensor unpack_triangle(const at::Tensor& packed, int64_t d) {
  std::vector<int64_t> shape(packed.sizes().begin(), packed.sizes().end() - 1);
  shape.insert(shape.end(), {d, d});
  at::Tensor matrices = at::empty(shape, packed.options());
  const at::Tensor rows = packed.contiguous();
  AT_DISPATCH_FLOATING_TYPES(packed.scalar_type(), "triangle", [&] {
    auto* matrix = matrices.mutable_data_ptr<scalar_t>();
    const auto* row = rows.const_data_ptr<scalar_t>();
    for (int64_t m = 0; m < matrices.numel() / (d * d); ++m) {
      for (int64_t i = 0; i < d; ++i) {
        for (int64_t j = i; j < d; ++j) matrix[i * d + j] = matrix[j * d + i] = *row++;
      }
      matrix += d * d;
    }
  });
  return matrices;
}

}  // namespace ropewalk
