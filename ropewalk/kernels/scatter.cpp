#include "ropewalk/kernels/scatter.h"

#include <algorithm>
#include <vector>

namespace ropewalk {
namespace {

// Tokens multiplied in float32 before float64 takes over; a chunk of one head stays in a core's
// cache.
constexpr int64_t kChunk = 512;

// Moments of each chunk of each head, float32.
struct Chunks {
  at::Tensor mean;      // [heads, chunks, d], rounded
  at::Tensor sums;      // [heads, chunks, d, 2]: of (x - mean)(t - middle), and of x - mean
  at::Tensor products;  // [heads, chunks, d, d]: of (x - mean)(x - mean)^T
};

// basis [tokens, 2]: t - middle, and 1.
void scatter_chunk(const at::Tensor& x, const at::Tensor& basis, Chunks& out, int64_t head,
                   int64_t chunk) {
  const at::Tensor wide = x.to(at::kFloat);  // [tokens, d]
  at::Tensor mean = out.mean.select(0, head).select(0, chunk);
  at::mean_out(mean, wide, 0);
  const at::Tensor centred = wide - mean;
  at::Tensor sums = out.sums.select(0, head).select(0, chunk);
  at::mm_out(sums, centred.t(), basis);
  at::Tensor products = out.products.select(0, head).select(0, chunk);
  at::mm_out(products, centred.t(), centred);
}

}  // namespace

Scatter document_scatter(const at::Tensor& x) {
  const int64_t heads = x.size(0);
  const int64_t tokens = x.size(1);
  const int64_t d = x.size(2);
  const int64_t chunks = (tokens + kChunk - 1) / kChunk;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(x.device());
  Chunks parts{at::empty({heads, chunks, d}, options), at::empty({heads, chunks, d, 2}, options),
               at::empty({heads, chunks, d, d}, options)};
  std::vector<at::Tensor> bases;
  std::vector<double> counts;
  std::vector<double> middles;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    const int64_t size = std::min(kChunk, tokens - chunk * kChunk);
    counts.push_back(static_cast<double>(size));
    const double middle = static_cast<double>(size - 1) / 2;
    middles.push_back(static_cast<double>(chunk * kChunk) + middle);
    bases.push_back(at::stack({at::arange(size, options) - middle, at::ones({size}, options)}, 1));
  }
  at::parallel_for(0, heads * chunks, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = i / chunks;
      const int64_t chunk = i % chunks;
      scatter_chunk(
          x.select(0, head).slice(0, chunk * kChunk, std::min((chunk + 1) * kChunk, tokens)),
          bases[static_cast<size_t>(chunk)], parts, head, chunk);
    }
  });

  const at::Tensor count = at::tensor(counts, at::kDouble).to(x.device());    // [chunks]
  const at::Tensor middle = at::tensor(middles, at::kDouble).to(x.device());  // [chunks]
  const at::Tensor weight = count / static_cast<double>(tokens);
  // The chunk's mean was rounded to float32; what is left of it comes back here.
  const at::Tensor rest = parts.sums.select(3, 1).to(at::kDouble);  // [heads, chunks, d]
  const at::Tensor means = parts.mean.to(at::kDouble) + rest / count.unsqueeze(1);
  Scatter result;
  result.mean = (means * weight.unsqueeze(1)).sum(1);
  const at::Tensor offset = means - result.mean.unsqueeze(1);
  const at::Tensor weighted = offset * count.unsqueeze(1);
  const at::Tensor drift = middle - static_cast<double>(tokens - 1) / 2;
  result.position =
      parts.sums.select(3, 0).sum(1, false, at::kDouble) + (weighted * drift.unsqueeze(1)).sum(1);
  result.products = parts.products.sum(1, false, at::kDouble) +
                    at::bmm(weighted.transpose(1, 2), offset) -
                    at::bmm(rest.transpose(1, 2), rest / count.unsqueeze(1));
  return result;
}

int64_t document_scatter_workspace(int64_t heads, int64_t tokens, int64_t d) {
  const int64_t chunks = (tokens + kChunk - 1) / kChunk;
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  constexpr auto kDouble = static_cast<int64_t>(sizeof(double));
  // Chunks; their sum, its corrections and the result.
  return heads * d * d * (chunks * kSingle + 5 * kDouble);
}

}  // namespace ropewalk
