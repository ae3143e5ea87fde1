#pragma once

#include <cstdint>

#include "ropewalk/kernels/token_set.h"

namespace ropewalk {

// Passes over raw memory with one meaning on the CPU (passes.cpp) and on a GPU (passes.cu,
// moments_chunks.cu, moments_join.cu, sums.cu, lags.cu; no_cuda.cpp in builds without CUDA). Torch
// is not included here. Numbers are float32 or bfloat16; arithmetic is float32, rounded once.

enum class Number { float32, bfloat16 };

enum class Activation { silu, gelu, gelu_tanh, relu, relu_squared, xielu };

// outer x inner rows; the numbers of a row lie side by side; strides count numbers.
struct StridedRows {
  void* data = nullptr;
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t outer_stride = 0;
  int64_t inner_stride = 0;
  constexpr int64_t count() const { return outer * inner; }
};

// out = x / rms(x) * weight, row by row; `out` is dense, [outer, inner, width].
struct NormPass {
  Number type = Number::float32;
  StridedRows x;
  int64_t width = 0;
  const void* weight = nullptr;
  void* out = nullptr;
  float eps = 0;
  bool weight_plus_one = false;
};

// Turns pairs of numbers of every row by the angle of the row's position: (i, i + pairs), or
// (2i, 2i + 1) where interleaved. Rows are [heads, positions].
struct TurnPass {
  Number type = Number::float32;
  StridedRows x;
  StridedRows to;              // the target; a CPU turns in place
  const float* cos = nullptr;  // [positions, pairs]
  const float* sin = nullptr;
  int64_t pairs = 0;
  bool interleaved = false;
};

// x[0 … width) = activation(x[0 … width)) * x[width … 2 width), row by row, in place.
struct GatePass {
  Number type = Number::float32;
  StridedRows x;  // inner = 1
  int64_t width = 0;
  Activation activation = Activation::silu;
};

// log(sum(exp(x))) of every row, rows side by side.
struct LogSumPass {
  const float* x = nullptr;
  int64_t width = 0;
  double* out = nullptr;
};

// sum(exp(x - log_sum) (x - y)) of every row, rows side by side.
struct GapPass {
  const float* x = nullptr;
  const double* log_sum = nullptr;  // one per row
  const float* y = nullptr;
  int64_t width = 0;
  double* out = nullptr;
};

namespace cpu {
// Runs the rows begin … end - 1.
void run(const NormPass& pass, int64_t begin, int64_t end);
void run(const TurnPass& pass, int64_t begin, int64_t end);
void run(const GatePass& pass, int64_t begin, int64_t end);
void run(const LogSumPass& pass, int64_t begin, int64_t end);
void run(const GapPass& pass, int64_t begin, int64_t end);
}  // namespace cpu

// Moments of the tokens of some streams, chunk by chunk, which are then joined to those of a block.
// Queries and keys are computed together: the streams are the chosen query heads, then the chosen
// KV heads. A pair is two dimensions that RoPE turns together: (f, f + turns / 2), or (2f, 2f + 1)
// where interleaved.
struct StreamChunks {
  int64_t streams = 0;
  int64_t tokens = 0;
  int64_t chunk = 0;  // tokens of each chunk but the last
  int64_t d = 0;
  const float* time = nullptr;  // [tokens]: positions relative to the middles of their chunks
  float* shift = nullptr;       // [streams, chunks, d]: subtracted from vectors
  float* sums = nullptr;  // [streams, chunks, d, 2]: sums of (x - shift) time, and of x - shift
  // [streams, chunks, d, d]: sums of (x - shift)(x - shift)^T; only the upper triangle is valid
  float* products = nullptr;
  int64_t turns = 0;  // number of dimensions in pairs, from the front
  bool interleaved = false;
  // [streams, chunks, turns / 2]: sums of pairs' lengths; null: not wanted
  float* moduli = nullptr;
  constexpr int64_t chunks() const { return (tokens + chunk - 1) / chunk; }
};

struct StridedHeads {
  const void* data = nullptr;
  const int32_t* chosen = nullptr;  // indexes of heads, on the GPU
  int64_t count = 0;
  int64_t head_stride = 0;
  int64_t token_stride = 0;
};

// One block of documents of every stream, float64: see moments/moments.h.
struct BlockMoments {
  double* mean = nullptr;      // [d], `stride_mean` numbers from stream to stream
  double* position = nullptr;  // [d], `stride_mean` numbers from stream to stream
  double* products = nullptr;  // [d (d + 1) / 2], `stride_products` numbers from stream to stream
  int64_t stride_mean = 0;
  int64_t stride_products = 0;
};

namespace cuda {
using Stream = void*;
bool available();  // whether this program has the functions below
void run(const NormPass& pass, Stream stream);
void run(const TurnPass& first, const TurnPass& second, Stream stream);
void run(const GatePass& pass, Stream stream);

// Whether chunk_moments supports bfloat16 vectors of this width.
bool has_chunk_moments(int64_t d);
// Computes chunk moments of bfloat16 vectors; with lengths of pairs, it computes no sums with time.
void chunk_moments(const StridedHeads& queries, const StridedHeads& keys, const StreamChunks& out,
                   Stream stream);
// Joins the chunks to a block that already holds the tokens of `block`. `bad[stream]` becomes the
// lowest `document` whose moments are not finite.
struct JoinPass {
  StreamChunks chunks;
  int64_t query_streams = 0;
  BlockMoments queries;
  BlockMoments keys;
  const double* middle = nullptr;  // [chunks]: mean positions
  double mean = 0;                 // mean position of all chunks
  TokenSet block;
  int64_t document = 0;
  int64_t* bad = nullptr;
};
void run(const JoinPass& pass, Stream stream);

// Computes the lengths of pairs of vectors that chunk_moments does not support.
void chunk_moduli(Number type, const StridedHeads& queries, const StridedHeads& keys,
                  const StreamChunks& out, Stream stream);

// Plain sums over the tokens of every stream, about zero, in float64, added to what is there.
struct SumPointers {
  double* tokens = nullptr;    // [1]: number of tokens
  double* sum = nullptr;       // [d]
  double* squares = nullptr;   // [d]
  double* pairs = nullptr;     // [pairs]: sums of products of a pair's two numbers
  double* moduli = nullptr;    // [pairs]: sums of a pair's lengths
  double* products = nullptr;  // [d (d + 1) / 2]: sum of xxᵀ, upper triangle by rows
  int64_t stride_tokens = 0;   // numbers from stream to stream
  int64_t stride_sums = 0;     // the stride of sum and squares
  int64_t stride_pairs = 0;    // the stride of pairs and moduli
  int64_t stride_products = 0;
};
// Number, sum and squares of a few tokens.
struct FewTokensPass {
  Number type = Number::float32;
  StridedHeads queries;
  StridedHeads keys;
  int64_t tokens = 0;
  int64_t d = 0;
  SumPointers to_queries;
  SumPointers to_keys;
};
void run(const FewTokensPass& pass, Stream stream);
// All sums but the number of tokens, from moments of chunks; and those of a few earlier tokens,
// where there are any.
struct SumsPass {
  FewTokensPass few;
  StreamChunks chunks;
  int64_t query_streams = 0;
  SumPointers to_queries;
  SumPointers to_keys;
  int64_t document = 0;
  int64_t* bad = nullptr;
};
void run(const SumsPass& pass, Stream stream);

// For every chosen query head, sums over its queries, in float64: for a single shift, of the dot
// products q_t · k_(t - shift); for a bound, of q_t · (k_0 + … + k_(t - shift)). Each window adds
// one of these sums less another to what is there. Within a run of tokens keys are summed in
// float32; the sums of earlier runs are float64.
inline constexpr int kMostLagShifts = 48;
inline constexpr int kMostLagWindows = 48;
inline constexpr int kMostLagOffsets = 16;
inline constexpr int64_t kMostLagDimensions = 512;
inline constexpr int64_t kLagRun = 64;  // tokens
struct LagsPass {
  Number type = Number::float32;
  StridedHeads queries;  // the chosen heads, sorted
  StridedHeads keys;     // the heads that these queries read
  int64_t group = 1;     // query heads per KV head
  int64_t tokens = 0;
  int64_t d = 0;
  int shifts = 0;
  int singles = 0;                     // number of single shifts, which come before bounds
  int32_t shift[kMostLagShifts] = {};  // below `tokens`
  int32_t index[kMostLagShifts] = {};  // for a bound: index of its offset
  int offsets = 0;
  int32_t offset[kMostLagOffsets] =
      {};  // tokens of a run that a bound before another run ends with
  int windows = 0;
  int32_t first[kMostLagWindows] = {};  // index of a shift; -1: no pair is so far apart
  int32_t last[kMostLagWindows] = {};   // index of the shift that is subtracted; -1: none
  double pairs[kMostLagWindows] = {};   // added to `count`
  double* before = nullptr;  // [keys, runs, d]: scratch, sums of the keys before each run
  float* within = nullptr;   // [keys, runs, offsets, d]: scratch, sums up to each offset of a run
  double* parts = nullptr;   // [runs * slices, queries, shifts]: scratch
  double* sum = nullptr;     // [windows]
  double* count = nullptr;   // [windows]
  int64_t stride = 0;        // numbers from query head to query head, in both

  constexpr int64_t runs() const { return (tokens + kLagRun - 1) / kLagRun; }
  // The dimensions that a warp takes at once.
  constexpr int64_t width() const { return d <= 64 ? 64 : 128; }
  constexpr int64_t slices() const { return (d + width() - 1) / width(); }
  // Adds a shift, single ones before bounds. The caller sees that there are not too many.
  void add_shift(int64_t tokens_before, bool bound) {
    shift[shifts] = static_cast<int32_t>(tokens_before);
    if (bound) {
      const auto at = static_cast<int32_t>((kLagRun - tokens_before % kLagRun) % kLagRun);
      int found = 0;
      while (found < offsets && offset[found] != at) ++found;
      if (found == offsets) offset[offsets++] = at;
      index[shifts] = found;
    } else {
      ++singles;
    }
    ++shifts;
  }
  void add_window(int64_t first_shift, int64_t last_shift, double pairs_there) {
    first[windows] = static_cast<int32_t>(first_shift);
    last[windows] = static_cast<int32_t>(last_shift);
    pairs[windows++] = pairs_there;
  }
};
void run(const LagsPass& pass, Stream stream);
}  // namespace cuda

}  // namespace ropewalk
