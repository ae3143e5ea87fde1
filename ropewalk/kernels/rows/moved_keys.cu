#include <cstdint>
#include <type_traits>

#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/rows/row_logits.cuh"
#include "ropewalk/kernels/rows/turned_query.cuh"

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

// A row and a head, and what a lane adds up of them.
struct Line {
  int row, head;  // row -1: there is none
  int from, to;   // the keys of the run that it sees
  int move;
  float mean;
  float slope;
  const float* products;  // as in RowLogits, by position
  float sums[kSums];
};

// `whole`: vectors have as many numbers as the steps, and begin where eight can be read at once.
template <typename T, int steps, bool whole>
class KeyRun {
 public:
  __device__ KeyRun(const RowsPass& pass, const KeyRunTask& task, int64_t kv, int head)
      : pass_(pass), task_(task), head_(head) {
    keys_ = static_cast<const T*>(pass.keys.data) + kv * pass.keys.head_stride;
    even_ = pass.keys.token_stride % 2 == 0 &&
            reinterpret_cast<uintptr_t>(keys_) % (2 * sizeof(T)) == 0;
    // Lines of all heads of a row follow each other.
    per_row_ = min(pass.first_head[kv + 1] - head, static_cast<int>(kLines) / task.rows);
    if (pass.cos != nullptr) turn();
    // A lane gets the products of two lines with two of sixteen keys.
    for (int i = 0; i < 2; ++i) lines_[i] = line(threadIdx.x % 4 * 2 + i);
  }

  __device__ void add() {
    for (int key = task_.begin; key < task_.end; key += kKeys) {
      float products[4] = {};
      if (pass_.cos != nullptr) multiply(key, products);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        add_product(lines_[i % 2], key + static_cast<int>(threadIdx.x % kWarp / 4) + i / 2 * 8,
                    products[i]);
      }
    }
    for (Line& one : lines_) write(one);
  }

 private:
  __device__ Line line(int number) const {
    Line one{};
    const int row = number / per_row_;
    one.head = head_ + number % per_row_;
    one.row = row < task_.rows ? task_.first_row + row : -1;
    if (one.row < 0) return one;
    const RowLogits logits(pass_, one.head, one.row);
    one.from = max(logits.first_late(), task_.begin);
    one.to = min(logits.t + 1, task_.end);
    one.move = pass_.moves[one.row * pass_.runs + task_.run - pass_.first_run[one.row]];
    one.slope = logits.slope;
    // Of the logits at a distance of 0, ALiBi takes nothing.
    one.mean = static_cast<float>(pass_.about[(one.head * pass_.rows + one.row) * 2]) +
               logits.slope * static_cast<float>(logits.t);
    one.products = logits.products;
    return one;
  }

  // A lane holds its dimensions of one line.
  __device__ void turn() {
    const Line one = line(threadIdx.x % kWarp / 4);
    const TurnedQuery<T> query(pass_, one.head, max(one.row, 0), one.move);
    if (query.halves() && query.d == steps * kStep) {
#pragma unroll
      for (int step = 0; step < steps / 2; ++step) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float2 first{}, second{};
          if (one.row >= 0) query.four(dimension(step, half), first, second);
          set(step, half, first);
          set(step + steps / 2, half, second);
        }
      }
      return;
    }
#pragma unroll
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = dimension(step, half);
        set(step, half, one.row >= 0 && i < query.d ? query.two(i) : float2{});
      }
    }
  }
  __device__ void set(int step, int half, float2 x) {
#pragma unroll
    for (int term = 0; term < kQueryTerms<T>; ++term) {
      queries_[term][step][half] = take_term(x);
    }
  }

  // Products of sixteen keys with all lines.
  __device__ void multiply(int key, float (&products)[4]) const {
    const auto row = static_cast<int>(threadIdx.x % kWarp / 4);
    const int d = whole ? steps * kStep : static_cast<int>(pass_.d);
    const T* of_rows[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      of_rows[i] = keys_ + min(key + row + i * 8, task_.end - 1) * pass_.keys.token_stride;
    }
#pragma unroll
    for (int step = 0; step < steps; step += 2) {
      unsigned terms[2][kKeyTerms<T>][4];  // by row
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_terms<whole>(terms[i], of_rows[i], dimension(step, 0), d, even_);
      }
#pragma unroll
      for (int next = 0; next < 2; ++next) {
        // Terms that together are beyond the digits that are kept are left out.
#pragma unroll
        for (int b = 0; b < kKeyTerms<T>; ++b) {
          const unsigned keys[4] = {terms[0][b][2 * next], terms[1][b][2 * next],
                                    terms[0][b][2 * next + 1], terms[1][b][2 * next + 1]};
#pragma unroll
          for (int a = 0; a + b < kQueryTerms<T>; ++a) {
            multiply_add(products, keys, queries_[a][step + next]);
          }
        }
      }
    }
  }

  // The logit at a position about the row's mean, of a product with a key.
  __device__ float about_mean(const Line& one, float product, int position) const {
    return pass_.scale * product + one.slope * static_cast<float>(position) - one.mean;
  }

  __device__ void add_product(Line& one, int j, float product) const {
    if (one.row < 0 || j < one.from || j >= one.to) return;
    const int place = j + one.move;
    const float of_key = about_mean(one, one.products[j], j),
                at_place = about_mean(one, one.products[place], place);
    const float moved = pass_.cos == nullptr ? of_key + one.slope * static_cast<float>(one.move)
                                             : about_mean(one, product, place);
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
    if (one.row < 0 || threadIdx.x % kWarp >= 4) return;
    const int run = task_.run - pass_.first_run[one.row];
    double* const to =
        pass_.moved +
        ((static_cast<int64_t>(one.head) * pass_.rows + one.row) * pass_.runs + run) * kSums;
    for (int i = 0; i < kSums; ++i) to[i] = one.sums[i];
  }

  const RowsPass& pass_;
  const KeyRunTask task_;
  int head_;
  int per_row_ = 1;
  const T* keys_ = nullptr;
  bool even_ = false;
  Line lines_[2];
  unsigned queries_[kQueryTerms<T>][steps][2];
};

template <typename T, int steps, bool whole>
__global__ void __launch_bounds__(kThreads, steps <= 8 && kKeyTerms<T> == 1 ? 5 : 1)
    move_key_runs(RowsPass pass) {
  const int64_t which = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  const int64_t kv = blockIdx.y;
  if (which >= pass.task_count) return;
  const KeyRunTask task = pass.tasks[which];
  const int last = pass.first_head[kv + 1];
  for (int head = pass.first_head[kv]; head < last; head += static_cast<int>(kLines) / task.rows) {
    KeyRun<T, steps, whole>(pass, task, kv, head).add();
  }
}

template <typename T, int steps>
void launch(const RowsPass& pass, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>((pass.task_count + kWarps - 1) / kWarps),
                  static_cast<unsigned>(pass.keys.count));
  const bool whole = pass.d == steps * kStep && pass.keys.token_stride % kAtOnce == 0 &&
                     pass.keys.head_stride % kAtOnce == 0 &&
                     reinterpret_cast<uintptr_t>(pass.keys.data) % 16 == 0;
  if (whole) {
    move_key_runs<T, steps, true><<<grid, kThreads, 0, stream>>>(pass);
  } else {
    move_key_runs<T, steps, false><<<grid, kThreads, 0, stream>>>(pass);
  }
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
