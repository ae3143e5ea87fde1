#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/row_block.cuh"
#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/rows/row_logits.cuh"

namespace ropewalk::cuda {
namespace {

using Row = RowNumber;

// Logits of a row that fit into a block's own memory, which several blocks share a processor's of.
constexpr int64_t kHeldKeys = 8192;

// One row of one head; a block computes it.
class RowKeys {
 public:
  // `held` has room for a row's logits; null: they are computed again whenever they are needed.
  __device__ RowKeys(const RowsPass& pass, int64_t head, int64_t row, float* held)
      : pass_(pass), logits_(pass, head, row), head_(head), row_(row), held_(held) {}

  __device__ void set_numbers(DistanceSums& by_distance) {
    set_top();
    set_total();
    add_keys(by_distance);
    if (threadIdx.x == 0) write_near(by_distance);
  }

 private:
  __device__ double* numbers() const {
    return pass_.numbers + (head_ * pass_.rows + row_) * Row::count;
  }

  // What is held are logits before any cap, then weights. A thread asks for its own keys alone.
  __device__ float uncapped(int j) const {
    return held_ == nullptr ? logits_.uncapped(j) : held_[logits_.t - j];
  }
  __device__ float weight(int j) const {
    return held_ == nullptr ? expf(logits_.logit(j) - top_) : held_[logits_.t - j];
  }

  // The largest logit, and the mean of late ones before any cap.
  __device__ void set_top() {
    float top = -INFINITY;
    // Several at once, so that their loads do not wait for each other.
    constexpr int kAtOnce = 4;
    float late = 0;
    for (int j = logits_.t - static_cast<int>(threadIdx.x); j >= logits_.first;
         j -= kAtOnce * kThreads) {
      float x[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int key = j - i * kThreads;
        x[i] = key >= logits_.first ? logits_.uncapped(key) : 0;
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const int key = j - i * kThreads;
        if (key < logits_.first) break;
        if (held_ != nullptr) held_[logits_.t - key] = x[i];
        top = fmaxf(top, logits_.capped(x[i], key));
        if (key >= kFirstLateKey) late += x[i];
      }
    }
    largest_ = block_max(top);
    double sum[1];
    block_sum({late}, sum);
    mean_ = logits_.late() > 0 ? sum[0] / static_cast<double>(logits_.late()) : 0;
    top_ = pass_.sinks == nullptr ? largest_ : fmaxf(largest_, pass_.sinks[head_]);
  }

  // The softmax's denominator, the entropy, and how late logits vary.
  __device__ void set_total() {
    float of_thread[3] = {};  // of exp(x), of exp(x) x, of squares about the mean
    const auto mean = static_cast<float>(mean_);
    for (int j = logits_.t - static_cast<int>(threadIdx.x); j >= logits_.first; j -= kThreads) {
      const float uncapped_j = uncapped(j);
      const float x = logits_.capped(uncapped_j, j) - top_;
      const float weight = expf(x);
      if (held_ != nullptr) held_[logits_.t - j] = weight;
      of_thread[0] += weight;
      of_thread[1] += weight * x;
      if (j >= kFirstLateKey) {
        const float away = uncapped_j - mean;
        of_thread[2] += away * away;
      }
    }
    double sums[3];
    block_sum(of_thread, sums);
    learned_ = 0;
    if (pass_.sinks != nullptr) {
      const float x = pass_.sinks[head_] - top_;
      learned_ = exp(static_cast<double>(x));
      sums[0] += learned_;
      sums[1] += learned_ * x;
    }
    total_ = sums[0];
    learned_ /= total_;
    entropy_ = fmax(0.0, log(total_) - sums[1] / total_);
    if (threadIdx.x == 0) {
      double* const about = pass_.about + (head_ * pass_.rows + row_) * 2;
      about[0] = mean_;
      about[1] = sums[2];
    }
  }

  // What a thread adds up of its keys.
  struct KeySums {
    enum { first4, sink, reach, echo, copy, echoes, copies, count };
    float sums[count];
    Strongest strongest;
  };

  // All that needs p of single keys.
  __device__ void add_keys(DistanceSums& to) {
    const auto share = static_cast<float>(1 / total_);
    KeySums mine{};
    mine.strongest.clear();
    float in_part = 0;
    int part = 0;
    const int keys = logits_.t + 1 - logits_.first;
    for (int i = 0; i * kThreads < keys; ++i) {
      if (i > 1 && (i & (i - 1)) == 0) {
        to.far[part++][threadIdx.x] = in_part;
        in_part = 0;
      }
      const int distance = i * kThreads + static_cast<int>(threadIdx.x), j = logits_.t - distance;
      const float p = j >= logits_.first ? weight(j) * share : 0;
      if (j >= logits_.first) add_key(j, distance, p, mine);
      const float late = j >= kFirstLateKey ? p : 0;
      if (i == 0) {
        to.near[threadIdx.x] = late;
      } else {
        in_part += late;
      }
      // These are multiples of 64, and beyond kThreads the first thread has them.
      if (threadIdx.x % 64 == 0) {
#pragma unroll
        for (int f = 0; f < kFarCount; ++f) {
          if (distance == far_distance(f)) to.at_far[f] = late;
        }
      }
    }
    if (keys > kThreads) to.far[part++][threadIdx.x] = in_part;
    to.reduce(static_cast<int>(pass_.parts), kNearParts + part);
    write_keys(to, mine);
  }

  __device__ void add_key(int j, int distance, float p, KeySums& to) const {
    if (j < kFirstLateKey) {
      to.sums[KeySums::first4] += p;
      if (j == 0) to.sums[KeySums::sink] = p;
      return;
    }
    to.sums[KeySums::reach] += p * __log2f(1 + static_cast<float>(distance));
    if (distance == 0) return;
    to.strongest.add(p, j);
    const int32_t own = pass_.ids[logits_.t];
    if (pass_.ids[j] == own) {
      to.sums[KeySums::echo] += p;
      ++to.sums[KeySums::echoes];
    }
    if (j > kFirstLateKey && pass_.ids[j - 1] == own) {
      to.sums[KeySums::copy] += p;
      ++to.sums[KeySums::copies];
    }
  }

  __device__ void write_keys(const DistanceSums& by_distance, KeySums& mine) {
    if (threadIdx.x < pass_.parts) {
      pass_.distances[(head_ * pass_.rows + row_) * pass_.parts + threadIdx.x] =
          by_distance.part[threadIdx.x];
    }
    join(mine.strongest);
    double sum[KeySums::count];
    block_sum(mine.sums, sum);
    if (threadIdx.x > 0) return;
    double* const n = numbers();
    n[Row::first4] = sum[KeySums::first4];
    n[Row::sink] = sum[KeySums::sink];
    n[Row::reach] = sum[KeySums::reach];
    const double late = by_distance.late;
    n[Row::late] = late;
    const auto set_lift = [&](int column, double found, double p) {
      n[column] = found > 0;
      n[column + 1] = p;
      n[column + 2] = late * found / static_cast<double>(logits_.late());
    };
    set_lift(Row::echo_rows, sum[KeySums::echoes], sum[KeySums::echo]);
    set_lift(Row::copy_rows, sum[KeySums::copies], sum[KeySums::copy]);
  }

  __device__ void join(Strongest& strongest) {
    __shared__ Strongest room[kWarps];
    strongest.join_lanes();
    if (threadIdx.x % kWarp == 0) room[threadIdx.x / kWarp] = strongest;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int w = 1; w < kWarps; ++w) {
      for (int i = 0; i < kStrongest; ++i) strongest.add(room[w].p[i], room[w].key[i]);
    }
    const int64_t at = (head_ * pass_.document_rows + pass_.earlier + row_) * kStrongest;
    for (int i = 0; i < kStrongest; ++i) {
      pass_.strongest_p[at + i] = strongest.p[i];
      pass_.strongest_key[at + i] = strongest.key[i];
    }
  }

  // By the first thread alone.
  __device__ void write_near(const DistanceSums& by_distance) {
    double* const n = numbers();
    const int64_t t = logits_.t;
    n[Row::rows] = 1;
    n[Row::self] = by_distance.part[0];
    n[Row::learned] = learned_;
    n[Row::entropy] = entropy_;
    n[Row::largest] = largest_;
    const bool follows = t > kFirstLateKey;
    n[Row::previous_rows] = follows;
    n[Row::previous] = follows ? by_distance.near[1] : 0;
    for (int f = 0; f < kFarCount; ++f) {
      const bool there =
          t >= 2 * far_distance(f) && (pass_.window == 0 || pass_.window > far_distance(f));
      double far = 0;
      if (there) {
        // The part that begins at a power of two follows the parts of all smaller distances.
        for (int i = 64 - __clzll(far_distance(f)); i < pass_.parts; ++i)
          far += by_distance.part[i];
        far -= by_distance.at_far[f];
      }
      n[Row::far_rows + f] = there;
      n[Row::far + f] = far;
    }
    const bool moved = pass_.places && t >= kFirstMoved;
    n[Row::moved_rows] = 0;
    n[Row::still_rows] = moved;  // until add_rows finds that logits vary
    n[Row::positional] = 0;
    n[Row::symbolic] = 0;
  }

  const RowsPass& pass_;
  RowLogits logits_;
  int64_t head_, row_;
  float* held_;
  float largest_ = 0, top_ = 0;
  double mean_ = 0, total_ = 0, learned_ = 0, entropy_ = 0;
};

// Four blocks of a processor's threads, so that the rows of most layers begin at once.
__global__ void __launch_bounds__(kThreads, 4) find_row_numbers(RowsPass pass, bool held) {
  __shared__ DistanceSums by_distance;
  extern __shared__ float row[];
  RowKeys(pass, blockIdx.y, blockIdx.x, held ? row : nullptr).set_numbers(by_distance);
}

}  // namespace

void row_numbers(const RowsPass& pass, Stream stream) {
  const dim3 grid(static_cast<unsigned>(pass.rows), static_cast<unsigned>(pass.heads));
  const bool held = pass.tokens <= kHeldKeys;
  constexpr int kMost = kHeldKeys * sizeof(float);
  static const cudaError_t allowed =
      cudaFuncSetAttribute(find_row_numbers, cudaFuncAttributeMaxDynamicSharedMemorySize, kMost);
  if (allowed != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA kernel find_row_numbers: ") +
                             cudaGetErrorString(allowed));
  }
  const size_t bytes = held ? static_cast<size_t>(pass.tokens) * sizeof(float) : 0;
  find_row_numbers<<<grid, kThreads, bytes, native(stream)>>>(pass, held);
  check_launch("find_row_numbers");
}

}  // namespace ropewalk::cuda
