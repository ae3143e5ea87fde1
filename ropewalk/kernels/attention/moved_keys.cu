#include <cstdint>
#include <type_traits>

#include "ropewalk/kernels/attention/row_columns.h"
#include "ropewalk/kernels/attention/row_logits.cuh"
#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk::cuda {
namespace {

// Keys that change places (key_moves.h): the keys of a run move equally far, which RoPE makes of
// them what it makes of a query that turns back as far. A warp takes a run and up to eight lines:
// pairs of a row that sees it and a head. It turns their queries, multiplies them with sixteen keys
// at a time on tensor cores, and adds up what comes out at once.
//
// Tensor cores multiply bfloat16 exactly and add in float32. So a float32 number is written as a
// sum of bfloat16 ones: two keep sixteen bits of a turned query, which is enough where keys have
// eight; three keep all.

constexpr int kWarps = 4;
constexpr int kThreads = kWarp * kWarps;
constexpr int kLines = kMovedLines;
constexpr int kKeys = 16;
constexpr int kStep = 16;  // dimensions that tensor cores take at once
constexpr int kSums = 4;

template <typename T>
constexpr int kQueryTerms = std::is_same_v<T, float> ? 3 : 2;
template <typename T>
constexpr int kKeyTerms = std::is_same_v<T, float> ? 3 : 1;

// sum += a b: 16 keys by 16 dimensions, times 16 dimensions by 8 lines.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Two numbers as one register of bfloat16, and what is left of them.
__device__ unsigned take_term(float2& x) {
  const __nv_bfloat162 term = __float22bfloat162_rn(x);
  const float2 taken = __bfloat1622float2(term);
  x = {x.x - taken.x, x.y - taken.y};
  return *reinterpret_cast<const unsigned*>(&term);
}

// Two neighbouring numbers of a vector, from an even one on; 0 behind its end.
__device__ float2 load_two(const float* vector, int i, int d, bool even) {
  if (even && i + 1 < d) return *reinterpret_cast<const float2*>(vector + i);
  return {i < d ? vector[i] : 0, i + 1 < d ? vector[i + 1] : 0};
}
__device__ float2 load_two(const __nv_bfloat16* vector, int i, int d, bool even) {
  if (even && i + 1 < d) {
    return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(vector + i));
  }
  return {i < d ? to_float(vector[i]) : 0, i + 1 < d ? to_float(vector[i + 1]) : 0};
}

// A query that is turned back as far as a run moves, without what RoPE multiplies by beside
// turning, which queries and keys have already.
template <typename T>
struct TurnedQuery {
  const T* query;
  const float* cos;
  const float* sin;
  float unscaled;  // and the sign of the move is in `sign`
  float sign;
  int pairs, d;
  bool interleaved, even;

  __device__ TurnedQuery(const RowsPass& pass, int64_t head, int64_t row, int32_t move)
      : query(static_cast<const T*>(pass.q) + (head * pass.rows + row) * pass.d),
        unscaled(1 / pass.cos[0]),
        sign(move < 0 ? -unscaled : unscaled),
        pairs(static_cast<int>(pass.pairs)),
        d(static_cast<int>(pass.d)),
        interleaved(pass.interleaved),
        even(pass.d % 2 == 0) {
    const int64_t far = static_cast<int64_t>(move < 0 ? -move : move) * pass.pairs;
    cos = pass.cos + far;
    sin = pass.sin + far;
  }

  // Its numbers i and i + 1; i is even.
  __device__ float2 two(int i) const {
    const float2 x = load_two(query, i, d, even);
    if (i >= 2 * pairs) return x;
    if (interleaved) {
      const float c = cos[i / 2] * unscaled, s = sin[i / 2] * sign;
      return {x.x * c + x.y * s, x.y * c - x.x * s};
    }
    if (pairs % 2 != 0) return {one(i), one(i + 1)};
    const bool first = i < pairs;
    const float2 other = load_two(query, first ? i + pairs : i - pairs, d, even);
    const int pair = first ? i : i - pairs;
    const float2 c = load_two(cos, pair, pairs, true), s = load_two(sin, pair, pairs, true);
    const float turn = first ? sign : -sign;
    return {x.x * c.x * unscaled + other.x * s.x * turn,
            x.y * c.y * unscaled + other.y * s.y * turn};
  }

 private:
  // Where halves lie apart by an odd number.
  __device__ float one(int i) const {
    if (i >= d) return 0;
    const float x = to_float(query[i]);
    if (i >= 2 * pairs) return x;
    const bool first = i < pairs;
    const int pair = first ? i : i - pairs;
    const float other = to_float(query[first ? i + pairs : i - pairs]);
    return x * cos[pair] * unscaled + other * sin[pair] * (first ? sign : -sign);
  }
};

// A row and a head, and what a lane adds up of them.
struct Line {
  bool there;
  int64_t head, row;
  int64_t from, to;  // the keys of the run that it sees
  int32_t move;
  float mean;
  float sums[kSums];
};

template <typename T, int steps>
class KeyRun {
 public:
  __device__ KeyRun(const RowsPass& pass, const KeyRunTask& task, int64_t kv, int64_t head)
      : pass_(pass), task_(task), head_(head), heads_(pass.first_head[kv + 1] - head) {
    keys_ = static_cast<const T*>(pass.keys.data) + kv * pass.keys.head_stride;
    even_ = pass.keys.token_stride % 2 == 0 &&
            reinterpret_cast<uintptr_t>(keys_) % (2 * sizeof(T)) == 0;
    // Lines of all heads of a row follow each other.
    per_row_ = heads_ < kLines / task.rows ? heads_ : kLines / task.rows;
    if (pass.cos != nullptr) turn();
    // A lane gets the products of two lines with two of sixteen keys.
    for (int i = 0; i < 2; ++i) lines_[i] = line(threadIdx.x % 4 * 2 + i);
  }

  __device__ void add() {
    for (int64_t key = task_.begin; key < task_.end; key += kKeys) {
      float products[4] = {};
      if (pass_.cos != nullptr) multiply(key, products);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        add_product(lines_[i % 2], key + threadIdx.x % kWarp / 4 + i / 2 * 8, products[i]);
      }
    }
    for (Line& one : lines_) write(one);
  }

 private:
  __device__ Line line(int number) const {
    Line one{};
    const int64_t row = number / per_row_;
    one.head = head_ + number % per_row_;
    one.there = row < task_.rows;
    if (!one.there) return one;
    one.row = task_.first_row + row;
    const RowLogits logits(pass_, one.head, one.row);
    one.from = max(logits.first_late(), static_cast<int64_t>(task_.begin));
    one.to = min(logits.t + 1, static_cast<int64_t>(task_.end));
    one.move = pass_.moves[one.row * pass_.runs + task_.run - pass_.first_run[one.row]];
    one.mean = static_cast<float>(pass_.about[(one.head * pass_.rows + one.row) * 2]);
    return one;
  }

  // A lane holds its dimensions of one line.
  __device__ void turn() {
    const Line one = line(threadIdx.x % kWarp / 4);
    const TurnedQuery<T> query(pass_, one.head, one.row, one.move);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = step * kStep + half * 8 + threadIdx.x % 4 * 2;
        float2 x = one.there && i < query.d ? query.two(i) : float2{};
#pragma unroll
        for (int term = 0; term < kQueryTerms<T>; ++term) {
          queries_[term][step][half] = take_term(x);
        }
      }
    }
  }

  // Products of sixteen keys with all lines.
  __device__ void multiply(int64_t key, float (&products)[4]) const {
    const int row = threadIdx.x % kWarp / 4, column = threadIdx.x % 4 * 2;
    const auto d = static_cast<int>(pass_.d);
    const T* of_rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int64_t j = key + row + i * 8;
      of_rows[i] = keys_ + (j < task_.end ? j : task_.end - 1) * pass_.keys.token_stride;
    }
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      unsigned terms[kKeyTerms<T>][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float2 x = load_two(of_rows[i % 2], step * kStep + i / 2 * 8 + column, d, even_);
#pragma unroll
        for (int term = 0; term < kKeyTerms<T>; ++term) terms[term][i] = take_term(x);
      }
      // Terms that together are beyond the digits that are kept are left out.
#pragma unroll
      for (int b = 0; b < kKeyTerms<T>; ++b) {
#pragma unroll
        for (int a = 0; a + b < kQueryTerms<T>; ++a) {
          multiply_add(products, terms[b], queries_[a][step]);
        }
      }
    }
  }

  __device__ void add_product(Line& one, int64_t j, float product) const {
    if (!one.there || j < one.from || j >= one.to) return;
    const RowLogits logits(pass_, one.head, one.row);
    const int64_t place = j + one.move;
    const float of_key = logits.uncapped(j) - one.mean,
                at_place = logits.uncapped(place) - one.mean;
    const float moved = pass_.cos == nullptr
                            ? of_key + logits.slope * static_cast<float>(one.move)
                            : logits.scale * product - one.mean -
                                  logits.slope * static_cast<float>(logits.t - place);
    one.sums[0] += moved;
    one.sums[1] += moved * moved;
    one.sums[2] += moved * of_key;
    one.sums[3] += moved * at_place;
  }

  // Eight lanes have keys of the same line.
  __device__ void write(Line& one) const {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      for (int width = 4; width < kWarp; width *= 2) {
        one.sums[i] += __shfl_xor_sync(0xffffffffU, one.sums[i], width);
      }
    }
    if (!one.there || threadIdx.x % kWarp >= 4) return;
    const int64_t run = task_.run - pass_.first_run[one.row];
    double* const to = pass_.moved + ((one.head * pass_.rows + one.row) * pass_.runs + run) * kSums;
    for (int i = 0; i < kSums; ++i) to[i] = one.sums[i];
  }

  const RowsPass& pass_;
  const KeyRunTask task_;
  int64_t head_, heads_;
  int64_t per_row_ = 1;
  const T* keys_ = nullptr;
  bool even_ = false;
  Line lines_[2];
  unsigned queries_[kQueryTerms<T>][steps][2];
};

template <typename T, int steps>
__global__ void __launch_bounds__(kThreads) move_key_runs(RowsPass pass) {
  const int64_t which = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  const int64_t kv = blockIdx.y;
  if (which >= pass.task_count) return;
  const KeyRunTask task = pass.tasks[which];
  const int64_t last = pass.first_head[kv + 1];
  for (int64_t head = pass.first_head[kv]; head < last; head += kLines / task.rows) {
    KeyRun<T, steps>(pass, task, kv, head).add();
  }
}

template <typename T, int steps>
void launch(const RowsPass& pass, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((pass.task_count + kWarps - 1) / kWarps),
                  static_cast<unsigned>(pass.keys.count));
  move_key_runs<T, steps><<<grid, kThreads, 0, stream>>>(pass);
  check_launch("move_key_runs");
}

template <typename T>
void choose_steps(const RowsPass& pass, cudaStream_t stream) {
  if (pass.d <= 4 * kStep) return launch<T, 4>(pass, stream);
  if (pass.d <= 8 * kStep) return launch<T, 8>(pass, stream);
  if (pass.d <= 16 * kStep) return launch<T, 16>(pass, stream);
  launch<T, 32>(pass, stream);
}

}  // namespace

void moved_keys(const RowsPass& pass, Stream stream) {
  if (pass.task_count == 0) return;
  if (pass.type == Number::float32) {
    choose_steps<float>(pass, native(stream));
  } else {
    choose_steps<__nv_bfloat16>(pass, native(stream));
  }
}

}  // namespace ropewalk::cuda
