#include "ropewalk/kernels/gpu/gpu_chunks.h"

#include <algorithm>

#include "ropewalk/kernels/gpu/gpu.h"

namespace ropewalk {
namespace {

// The number of tokens that are multiplied in float32 before float64 takes over: small enough to
// occupy every multiprocessor of a large GPU, and to keep all digits.
int64_t chunk_size(int64_t tokens, int64_t streams) {
  constexpr int64_t kTile = 64;
  constexpr int64_t kAtOnce = 264;  // chunks: two on each of 132 multiprocessors
  const int64_t chunks = std::max<int64_t>(1, kAtOnce / streams);
  const int64_t even = (tokens + chunks - 1) / chunks;
  return std::clamp<int64_t>((even + kTile - 1) / kTile * kTile, 256, 1024);
}

bool suits_tensor_cores(const at::Tensor& x) {
  constexpr int64_t kPack = 8;  // numbers read at a time
  return x.scalar_type() == at::kBFloat16 && cuda::has_chunk_moments(x.size(2)) &&
         x.stride(2) == 1 && x.stride(0) % kPack == 0 && x.stride(1) % kPack == 0 &&
         reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

// Computes chunks of equal size, x [streams, chunks, size, d] in float32, about their own means;
// `time` holds the tokens' positions relative to the middles of their chunks.
void plain_chunks(const at::Tensor& x, const at::Tensor& time, const ChunkTensors& out) {
  const at::Tensor mean = x.mean(2);
  const at::Tensor centred = x - mean.unsqueeze(2);
  out.shift.copy_(mean);
  out.sums.select(3, 0).copy_((centred * time.view({x.size(1), x.size(2), 1})).sum(2));
  out.sums.select(3, 1).copy_(centred.sum(2));
  out.products.copy_(at::matmul(centred.transpose(2, 3), centred));
}

// Computes moments of float32 vectors, and of widths that the tensor-core kernel does not support.
void plain_moments(const at::Tensor& x, const at::Tensor& heads, const Positions::Chunks& positions,
                   const ChunkTensors& out) {
  const at::Tensor chosen = x.index_select(0, heads).to(at::kFloat);
  const int64_t tokens = x.size(1);
  const int64_t whole = tokens / positions.size;
  const int64_t rest = whole * positions.size;  // start of the last, shorter chunk
  const auto some = [&](int64_t from, int64_t to) {
    return ChunkTensors{out.shift.slice(1, from, to), out.sums.slice(1, from, to),
                        out.products.slice(1, from, to)};
  };
  if (whole > 0) {
    plain_chunks(chosen.slice(1, 0, rest).unflatten(1, {whole, positions.size}),
                 positions.offset.slice(0, 0, rest), some(0, whole));
  }
  if (rest < tokens) {
    plain_chunks(chosen.slice(1, rest).unsqueeze(1), positions.offset.slice(0, rest),
                 some(whole, whole + 1));
  }
}

}  // namespace

GpuChunks::GpuChunks(const at::Tensor& q, const at::Tensor& q_heads, const at::Tensor& k,
                     const at::Tensor& kv_heads, const Positions& positions,
                     const TurningPairs& pairs) {
  const int64_t query_streams = q_heads.size(0);
  const int64_t streams = query_streams + kv_heads.size(0);
  const int64_t tokens = q.size(1);
  const int64_t d = q.size(2);
  const int64_t chunk = chunk_size(tokens, streams);
  const int64_t chunks = (tokens + chunk - 1) / chunk;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(q.device());
  parts = {at::empty({streams, chunks, d}, options), at::empty({streams, chunks, d, 2}, options),
           at::empty({streams, chunks, d, d}, options)};
  const Positions::Chunks& chunked = positions.chunks(chunk, q.device());
  middle = chunked.middle;
  pass = {streams,
          tokens,
          chunk,
          d,
          chunked.offset.const_data_ptr<float>(),
          parts.shift.mutable_data_ptr<float>(),
          parts.sums.mutable_data_ptr<float>(),
          parts.products.mutable_data_ptr<float>()};
  if (pairs.dim > 0) {
    moduli = at::empty({streams, chunks, pairs.dim / 2}, options);
    pass.turns = pairs.dim;
    pass.interleaved = pairs.interleaved;
    pass.moduli = moduli.mutable_data_ptr<float>();
  }
  const cuda::Stream stream = current_stream(q);
  if (suits_tensor_cores(q) && suits_tensor_cores(k)) {
    cuda::chunk_moments(heads_of(q, q_heads), heads_of(k, kv_heads), pass, stream);
    return;
  }
  if (pass.moduli != nullptr) {
    cuda::chunk_moduli(number_type(q), heads_of(q, q_heads), heads_of(k, kv_heads), pass, stream);
  }
  const auto part = [&](int64_t from, int64_t to) {
    return ChunkTensors{parts.shift.slice(0, from, to), parts.sums.slice(0, from, to),
                        parts.products.slice(0, from, to)};
  };
  plain_moments(q, q_heads, chunked, part(0, query_streams));
  plain_moments(k, kv_heads, chunked, part(query_streams, streams));
}

int64_t gpu_chunks_workspace(int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens, int64_t d,
                             at::ScalarType dtype) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const auto chunk_bytes = [&](int64_t streams, int64_t chunk) {
    return streams * ((tokens + chunk - 1) / chunk) * (d * d + 3 * d) * kSingle;
  };
  const int64_t chunk = chunk_size(tokens, n_q_heads + n_kv_heads);
  constexpr int64_t kRounding = int64_t{4} << 20;  // overhead of the allocator
  const int64_t chunks = chunk_bytes(n_q_heads + n_kv_heads, chunk) + kRounding;
  if (dtype == at::kBFloat16 && cuda::has_chunk_moments(d)) return chunks;
  // plain_moments holds the chosen vectors, their float32 copies, these about their means and times
  // the position, and products before they are copied. Queries are the larger part.
  const int64_t vectors = std::max(n_q_heads, n_kv_heads) * tokens * d;
  const auto stored = dtype == at::kFloat ? 0 : static_cast<int64_t>(c10::elementSize(dtype));
  return chunks + chunk_bytes(std::max(n_q_heads, n_kv_heads), chunk) +
         vectors * (stored + 3 * kSingle);
}

}  // namespace ropewalk
