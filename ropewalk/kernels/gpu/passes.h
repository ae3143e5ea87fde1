#pragma once

#include <cstdint>

#include "ropewalk/kernels/token_set.h"

namespace ropewalk {

// Passes over raw memory with one meaning on the CPU (passes.cpp) and on a GPU (passes.cu,
// moments_chunks.cu, moments_join.cu, sums.cu, lags.cu; no_cuda.cpp where there is none).
// Torch is not seen here. Numbers are float32 or bfloat16; arithmetic is float32, rounded once.

enum class Number { float32, bfloat16 };

enum class Activation { silu, gelu, gelu_tanh, relu, relu_squared, xielu };

// outer x inner rows of numbers that lie side by side; strides count numbers.
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
  StridedRows to;              // where they go; a CPU turns in place
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
  const double* log_sum = nullptr;  // of each row
  const float* y = nullptr;
  int64_t width = 0;
  double* out = nullptr;
};

namespace cpu {
// Rows begin … end - 1.
void run(const NormPass& pass, int64_t begin, int64_t end);
void run(const TurnPass& pass, int64_t begin, int64_t end);
void run(const GatePass& pass, int64_t begin, int64_t end);
void run(const LogSumPass& pass, int64_t begin, int64_t end);
void run(const GapPass& pass, int64_t begin, int64_t end);
}  // namespace cpu

// Moments of the tokens of some streams, chunk by chunk, then joined to a block's. Queries and keys
// go together: streams are the chosen query heads, then the chosen KV heads.
// A pair is two dimensions that RoPE turns together: (f, f + turns / 2), or (2f, 2f + 1) where
// interleaved.
struct StreamChunks {
  int64_t streams = 0;
  int64_t tokens = 0;
  int64_t chunk = 0;  // tokens of a chunk, but for the last
  int64_t d = 0;
  const float* time = nullptr;  // [tokens]: positions about the middles of their chunks
  float* shift = nullptr;       // [streams, chunks, d]: what vectors are taken about
  float* sums = nullptr;        // [streams, chunks, d, 2]: of (x - shift) time, and of x - shift
  float* products = nullptr;    // [streams, chunks, d, d]: of (x - shift)(x - shift)^T; only the
                                // upper triangle counts
  int64_t turns = 0;            // dimensions that are in pairs, from the front
  bool interleaved = false;
  float* moduli = nullptr;  // [streams, chunks, turns / 2]: sums of pairs' lengths, where wanted
  constexpr int64_t chunks() const { return (tokens + chunk - 1) / chunk; }
};

struct StridedHeads {
  const void* data = nullptr;
  const int32_t* chosen = nullptr;  // heads, on the GPU
  int64_t count = 0;
  int64_t head_stride = 0;
  int64_t token_stride = 0;
};

// One block of documents of every stream, float64: see moments/moments.h.
struct BlockMoments {
  double* mean = nullptr;      // [d], `stride_mean` numbers from stream to stream
  double* position = nullptr;  // [d], likewise
  double* products = nullptr;  // [d (d + 1) / 2], `stride_products` apart
  int64_t stride_mean = 0;
  int64_t stride_products = 0;
};

namespace cuda {
using Stream = void*;
bool available();  // whether this program has the functions below
void run(const NormPass& pass, Stream stream);
void run(const TurnPass& first, const TurnPass& second, Stream stream);
void run(const GatePass& pass, Stream stream);

// Whether chunk_moments takes bfloat16 vectors of this width.
bool has_chunk_moments(int64_t d);
// Chunk moments of bfloat16 vectors; with lengths of pairs no sums with time.
void chunk_moments(const StridedHeads& queries, const StridedHeads& keys, const StreamChunks& out,
                   Stream stream);
// Joins the chunks to a block that holds the tokens of `block` already.
// `bad[stream]` becomes the lowest `document` whose moments are not finite.
struct JoinPass {
  StreamChunks chunks;
  int64_t query_streams = 0;
  BlockMoments queries;
  BlockMoments keys;
  const double* middle = nullptr;  // [chunks]: their mean positions
  double mean = 0;                 // position of all of them
  TokenSet block;
  int64_t document = 0;
  int64_t* bad = nullptr;
};
void run(const JoinPass& pass, Stream stream);

// Lengths of pairs of other vectors.
void chunk_moduli(Number type, const StridedHeads& queries, const StridedHeads& keys,
                  const StreamChunks& out, Stream stream);

// Plain sums over the tokens of every stream, about zero, float64, added to what is there.
struct SumPointers {
  double* tokens = nullptr;    // [1]: how many
  double* sum = nullptr;       // [d]
  double* squares = nullptr;   // [d]
  double* pairs = nullptr;     // [pairs]: products of a pair's two numbers
  double* moduli = nullptr;    // [pairs]: lengths of a pair
  double* products = nullptr;  // [d (d + 1) / 2]: of xxᵀ, upper triangle by rows
  int64_t stride_tokens = 0;   // numbers from stream to stream
  int64_t stride_sums = 0;     // of sum and squares
  int64_t stride_pairs = 0;    // of pairs and moduli
  int64_t stride_products = 0;
};
// Of a few tokens: tokens, sum and squares.
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
// All but tokens, of moments of chunks; and a few tokens before them, where there are any.
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

// Sums of the dot products q_t · k_(t - lag) of every chosen query head, of their squares, and how
// many they are, float64, added to what is there.
inline constexpr int kMostLags = 48;
inline constexpr int64_t kMostLagDimensions = 512;
struct LagsPass {
  Number type = Number::float32;
  StridedHeads queries;  // chosen ones, sorted
  StridedHeads keys;     // those that the queries read
  int64_t group = 1;     // query heads per KV head
  int64_t tokens = 0;
  int64_t d = 0;
  int lag_count = 0;
  int32_t lags[kMostLags] = {};  // below `tokens`
  int64_t tile = 0;              // tokens of a part
  double* parts = nullptr;       // [tiles, query heads, lags, 2]: room
  double* sum = nullptr;         // [lags]
  double* squares = nullptr;     // [lags]
  double* count = nullptr;       // [lags]
  int64_t stride = 0;            // numbers from query head to query head, of all three
  constexpr int64_t tiles() const { return (tokens + tile - 1) / tile; }
};
void run(const LagsPass& pass, Stream stream);
}  // namespace cuda

}  // namespace ropewalk
