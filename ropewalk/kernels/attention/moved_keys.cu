#include <algorithm>
#include <cstdint>

#include "ropewalk/kernels/attention/row_columns.h"
#include "ropewalk/kernels/attention/row_logits.cuh"
#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk::cuda {
namespace {

// Keys that change places (key_moves.h): the keys of a run move equally far, which RoPE makes of
// them what it makes of a query that turns back as far. A warp takes a run of keys that a row sees,
// and some heads that read them. Its lanes hold the dimensions of the turned queries; a batch of
// keys gives each lane 32 products of its dimensions, of which each lane adds up one.

constexpr int kWarps = 8;
constexpr int kThreads = kWarp * kWarps;
constexpr int kSums = 4;

// A lane's dimensions: `pairs` neighbouring pairs of two that turn together. What does not turn
// pairs up behind them. `packed`: all lanes have pairs that turn, and the two halves of
// neighbouring ones lie side by side.
template <int pairs, bool packed>
struct LanePairs {
  int first[pairs], second[pairs];  // dimensions; -1: there is none
  int turning[pairs];               // index of the angle; -1: none

  __device__ explicit LanePairs(const RowsPass& pass) {
    const auto turned = static_cast<int>(pass.pairs), d = static_cast<int>(pass.d);
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const int pair = static_cast<int>(threadIdx.x % kWarp) * pairs + i;
      const bool turns = packed || pair < turned;
      const bool halves = packed || (turns && !pass.interleaved);
      first[i] = halves ? pair : 2 * pair;
      second[i] = halves ? pair + turned : 2 * pair + 1;
      turning[i] = turns ? pair : -1;
      if (packed) continue;
      if (first[i] >= d) first[i] = -1;
      if (second[i] >= d) second[i] = -1;
    }
  }

  template <typename T>
  __device__ void load(const T* vector, float (&to)[pairs][2]) const {
    if constexpr (packed) {
      const auto a = *reinterpret_cast<const Pack<T, pairs>*>(vector + first[0]);
      const auto b = *reinterpret_cast<const Pack<T, pairs>*>(vector + second[0]);
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        to[i][0] = to_float(a.at[i]);
        to[i][1] = to_float(b.at[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        to[i][0] = first[i] >= 0 ? to_float(vector[first[i]]) : 0;
        to[i][1] = second[i] >= 0 ? to_float(vector[second[i]]) : 0;
      }
    }
  }
};

// Of 32 numbers of every lane, the sum over all lanes of one of them: lane l gets number l.
template <int half = kWarp / 2>
__device__ float transposed_sum(float (&x)[kWarp]) {
  const bool upper = threadIdx.x & half;
#pragma unroll
  for (int i = 0; i < half; ++i) {
    const float mine = upper ? x[i + half] : x[i];
    const float other = upper ? x[i] : x[i + half];
    x[i] = mine + __shfl_xor_sync(0xffffffffU, other, half);
  }
  if constexpr (half > 1) {
    return transposed_sum<half / 2>(x);
  } else {
    return x[0];
  }
}

// A run of keys that a row sees, and `heads` heads from `head` on.
template <typename T, int pairs, bool packed, int heads>
class RowRun {
 public:
  __device__ RowRun(const RowsPass& pass, const LanePairs<pairs, packed>& lane, int64_t row,
                    int64_t run, int64_t kv, int64_t head, int64_t last_head)
      : pass_(pass), lane_(lane), row_(row), run_(run), head_(head) {
    const int32_t* const begins = pass.begins + row * (pass.runs + 1) + run;
    begin_ = begins[0];
    end_ = begins[1];
    move_ = pass.moves[row * pass.runs + run];
    keys_ = static_cast<const T*>(pass.keys.data) + kv * pass.keys.head_stride;
    // A lane's own head and key of each batch.
    const int number = threadIdx.x % kWarp;
    mine_ = head + number / kKeys;
    has_head_ = mine_ < last_head;
    if (!has_head_) mine_ = head;
    key_ = number % kKeys;
    last_head_ = last_head;
  }

  __device__ void add() {
    float sums[kSums] = {};
    if (begin_ < end_) {
      const RowLogits logits(pass_, mine_, row_);
      const auto mean = static_cast<float>(pass_.about[(mine_ * pass_.rows + row_) * 2]);
      if (pass_.cos != nullptr) turn();
      for (int64_t key = begin_; key < end_; key += kKeys) {
        const float product = pass_.cos == nullptr ? 0 : multiply(key);
        const int64_t j = key + key_, place = j + move_;
        if (j >= end_ || !has_head_) continue;
        const float of_key = logits.uncapped(j) - mean, at_place = logits.uncapped(place) - mean;
        const float moved = pass_.cos == nullptr
                                ? of_key + logits.slope * static_cast<float>(move_)
                                : logits.scale * product - mean -
                                      logits.slope * static_cast<float>(logits.t - place);
        sums[0] += moved;
        sums[1] += moved * moved;
        sums[2] += moved * of_key;
        sums[3] += moved * at_place;
      }
    }
    write(sums);
  }

 private:
  static constexpr int kKeys = kWarp / heads;

  // Turns the queries back as far as the run moves, without what RoPE multiplies by beside turning,
  // which queries and keys have already.
  __device__ void turn() {
    const int64_t far = static_cast<int64_t>(move_ < 0 ? -move_ : move_) * pass_.pairs;
    const float unscaled = 1 / pass_.cos[0];
    float cos[pairs], sin[pairs];
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      const bool turns = lane_.turning[i] >= 0;
      cos[i] = turns ? pass_.cos[far + lane_.turning[i]] * unscaled : 1;
      sin[i] = turns ? pass_.sin[far + lane_.turning[i]] * unscaled : 0;
      if (move_ < 0) sin[i] = -sin[i];
    }
#pragma unroll
    for (int h = 0; h < heads; ++h) {
      const int64_t head = head_ + h < last_head_ ? head_ + h : head_;
      float x[pairs][2];
      lane_.load(static_cast<const T*>(pass_.q) + (head * pass_.rows + row_) * pass_.d, x);
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        queries_[h][i][0] = x[i][0] * cos[i] + x[i][1] * sin[i];
        queries_[h][i][1] = x[i][1] * cos[i] - x[i][0] * sin[i];
      }
    }
  }

  // The product of the lane's own head with its own key of those from `key` on.
  __device__ float multiply(int64_t key) const {
    float products[kWarp];
#pragma unroll
    for (int k = 0; k < kKeys; ++k) {
      const int64_t j = key + k < end_ ? key + k : end_ - 1;
      float x[pairs][2];
      lane_.load(keys_ + j * pass_.keys.token_stride, x);
#pragma unroll
      for (int h = 0; h < heads; ++h) {
        float sum = 0;
#pragma unroll
        for (int i = 0; i < pairs; ++i) {
          sum += queries_[h][i][0] * x[i][0];
          sum += queries_[h][i][1] * x[i][1];
        }
        products[h * kKeys + k] = sum;
      }
    }
    return transposed_sum(products);
  }

  // Lanes of the same head follow each other.
  __device__ void write(float (&sums)[kSums]) const {
#pragma unroll
    for (int i = 0; i < kSums; ++i) {
      for (int width = kKeys / 2; width > 0; width /= 2) {
        sums[i] += __shfl_xor_sync(0xffffffffU, sums[i], width);
      }
    }
    if (key_ > 0 || !has_head_) return;
    double* const to = pass_.moved + ((mine_ * pass_.rows + row_) * pass_.runs + run_) * kSums;
    for (int i = 0; i < kSums; ++i) to[i] = sums[i];
  }

  const RowsPass& pass_;
  const LanePairs<pairs, packed>& lane_;
  int64_t row_, run_;
  int64_t head_, last_head_ = 0;
  int64_t begin_ = 0, end_ = 0;
  int32_t move_ = 0;
  const T* keys_ = nullptr;
  int64_t mine_ = 0;
  bool has_head_ = false;
  int key_ = 0;
  float queries_[heads][pairs][2];
};

// The warps of a block take the same run of neighbouring rows, which often have it in common.
template <typename T, int pairs, bool packed, int heads>
__global__ void __launch_bounds__(kThreads) move_key_runs(RowsPass pass) {
  const int64_t run = blockIdx.x, kv = blockIdx.z;
  const int64_t row = static_cast<int64_t>(blockIdx.y) * kWarps + threadIdx.x / kWarp;
  if (row >= pass.rows) return;
  const LanePairs<pairs, packed> lane(pass);
  const int64_t last = pass.first_head[kv + 1];
  for (int64_t head = pass.first_head[kv]; head < last; head += heads) {
    RowRun<T, pairs, packed, heads>(pass, lane, row, run, kv, head, last).add();
  }
}

template <typename T, int pairs, bool packed, int heads>
void launch(const RowsPass& pass, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(pass.runs),
                  static_cast<unsigned>((pass.rows + kWarps - 1) / kWarps),
                  static_cast<unsigned>(pass.keys.count));
  move_key_runs<T, pairs, packed, heads><<<grid, kThreads, 0, stream>>>(pass);
  check_launch("move_key_runs");
}

template <typename T, int pairs, bool packed>
void choose_heads(const RowsPass& pass, cudaStream_t stream) {
  if (pass.most_heads == 1) return launch<T, pairs, packed, 1>(pass, stream);
  if (pass.most_heads == 2) return launch<T, pairs, packed, 2>(pass, stream);
  launch<T, pairs, packed, 4>(pass, stream);
}

template <typename T, int pairs>
void choose_packs(const RowsPass& pass, cudaStream_t stream) {
  const auto aligned = [](const void* data) {
    return reinterpret_cast<uintptr_t>(data) % (pairs * sizeof(T)) == 0;
  };
  if (pairs * sizeof(T) <= 16 && !pass.interleaved && pass.pairs == pairs * kWarp &&
      pass.d == 2 * pass.pairs && pass.keys.head_stride % pairs == 0 &&
      pass.keys.token_stride % pairs == 0 && aligned(pass.keys.data) && aligned(pass.q)) {
    return choose_heads<T, pairs, true>(pass, stream);
  }
  choose_heads<T, pairs, false>(pass, stream);
}

template <typename T>
void choose_pairs(const RowsPass& pass, cudaStream_t stream) {
  const int64_t of_lane = (pass.d + 2 * kWarp - 1) / (2 * kWarp);
  if (of_lane <= 1) return choose_packs<T, 1>(pass, stream);
  if (of_lane <= 2) return choose_packs<T, 2>(pass, stream);
  if (of_lane <= 4) return choose_packs<T, 4>(pass, stream);
  choose_heads<T, 8, false>(pass, stream);
}

}  // namespace

void moved_keys(const RowsPass& pass, Stream stream) {
  if (pass.runs == 0) return;
  if (pass.type == Number::float32) {
    choose_pairs<float>(pass, native(stream));
  } else {
    choose_pairs<__nv_bfloat16>(pass, native(stream));
  }
}

}  // namespace ropewalk::cuda
