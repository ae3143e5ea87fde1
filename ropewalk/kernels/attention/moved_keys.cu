#include <cstdint>
#include <type_traits>

#include "ropewalk/kernels/attention/row_columns.h"
#include "ropewalk/kernels/attention/row_logits.cuh"
#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"

#include <mma.h>

namespace ropewalk::cuda {
namespace {

// Keys that change places (key_moves.h): the keys of a run move equally far, which RoPE makes of
// them what it makes of a query that turns back as far. So a block multiplies the keys of a run
// with as many turned queries as rows see them, and adds up the products at once.
//
// Tensor cores multiply bfloat16 exactly and add in float32. A float32 number is the sum of three
// of bfloat16, so that turned queries keep their digits; keys that are bfloat16 need one.

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kTile = 16;             // of tensor cores, in each direction
constexpr int kLines = 32;            // turned queries of a block
constexpr int kKeys = 64;             // keys that it multiplies at once
constexpr int kSlice = 128;           // dimensions at a time
constexpr int kRoom = kSlice + 8;     // the room of a vector: other banks for each
constexpr int kProducts = kKeys + 4;  // likewise
constexpr int kLinesPerWarp = kLines / kWarps;
constexpr int kTerms = 3;
constexpr int kSums = 4;
static_assert(kLines / kTile * (kKeys / kTile) == kWarps, "a warp takes one tile");

template <typename T>
constexpr int kKeyTerms = std::is_same_v<T, float> ? kTerms : 1;

// A row of a head that sees some of the run.
struct Line {
  int64_t head, row;
  int64_t from, to;  // the keys that it sees
  int32_t move;
};

template <typename T>
struct RunRoom {
  __nv_bfloat16 queries[kTerms][kLines][kRoom];
  __nv_bfloat16 keys[kKeyTerms<T>][kKeys][kRoom];
  float products[kLines][kProducts];
  Line lines[kLines];
};

template <typename T>
class KeyRun {
 public:
  __device__ KeyRun(const RowsPass& pass, RunRoom<T>& room)
      : pass_(pass), room_(room), task_(pass.tasks[blockIdx.x]), kv_(blockIdx.y) {
    first_head_ = pass.first_head[kv_];
    heads_ = pass.first_head[kv_ + 1] - first_head_;
    begin_line_ = static_cast<int64_t>(blockIdx.z) * kLines;
    lines_ = (task_.last_row - task_.first_row) * heads_ - begin_line_;
    if (lines_ > kLines) lines_ = kLines;
  }

  __device__ bool empty() const { return lines_ <= 0; }

  __device__ void add() {
    if (threadIdx.x < lines_) room_.lines[threadIdx.x] = line(threadIdx.x);
    __syncthreads();
    const int64_t end = min(static_cast<int64_t>(task_.end), pass_.t[task_.last_row - 1] + 1L);
    for (int64_t key = task_.begin; key < end; key += kKeys) {
      const int64_t keys = min(static_cast<int64_t>(kKeys), end - key);
      if (pass_.cos != nullptr) multiply(key, keys, key == task_.begin);
      __syncthreads();
      for (int i = 0; i < kLinesPerWarp; ++i) add_line(i, key, keys);
      __syncthreads();
    }
    write();
  }

 private:
  __device__ Line line(int64_t number) const {
    const int64_t all = begin_line_ + number;
    Line one;
    one.row = task_.first_row + all / heads_;
    one.head = first_head_ + all % heads_;
    one.move = pass_.moves[one.row * pass_.runs + run_of(one.row)];
    const RowLogits logits(pass_, one.head, one.row);
    one.from = max(logits.first_late(), static_cast<int64_t>(task_.begin));
    one.to = min(logits.t + 1, static_cast<int64_t>(task_.end));
    return one;
  }
  __device__ int64_t run_of(int64_t row) const { return task_.run - pass_.first_run[row]; }

  // One number of a query that is turned back as far as the run moves, without what RoPE multiplies
  // by beside turning, which query and key have already.
  __device__ float turned(const float* query, int i, int32_t move) const {
    const auto pairs = static_cast<int>(pass_.pairs);
    if (i >= 2 * pairs) return query[i];
    const bool first = pass_.interleaved ? i % 2 == 0 : i < pairs;
    const int pair = pass_.interleaved ? i / 2 : first ? i : i - pairs;
    const int step = pass_.interleaved ? 1 : pairs;
    const int64_t at = static_cast<int64_t>(move < 0 ? -move : move) * pairs + pair;
    const float own = 1 / pass_.cos[pair];
    const float cos = pass_.cos[at] * own;
    const float sin = pass_.sin[at] * (move < 0 ? -own : own);
    const float other = query[first ? i + step : i - step];
    return first ? query[i] * cos + other * sin : query[i] * cos - other * sin;
  }

  // x as a sum of numbers of bfloat16, each of what the ones before leave.
  template <int terms, typename Set>
  __device__ static void split(float x, const Set& set) {
#pragma unroll
    for (int i = 0; i < terms; ++i) {
      const __nv_bfloat16 term = __float2bfloat16_rn(x);
      set(i, term);
      x -= __bfloat162float(term);
    }
  }

  __device__ void load_queries(int64_t slice) {
    const int column = threadIdx.x % kSlice;
    const int64_t i = slice * kSlice + column;
    for (int number = threadIdx.x / kSlice; number < kLines; number += kThreads / kSlice) {
      float x = 0;
      if (number < lines_ && i < pass_.d) {
        const Line& one = room_.lines[number];
        x = turned(static_cast<const float*>(pass_.q) + (one.head * pass_.rows + one.row) * pass_.d,
                   static_cast<int>(i), one.move);
      }
      split<kTerms>(
          x, [&](int term, __nv_bfloat16 part) { room_.queries[term][number][column] = part; });
    }
  }

  __device__ void load_keys(int64_t slice, int64_t key, int64_t keys) {
    const int column = threadIdx.x % kSlice;
    const int64_t i = slice * kSlice + column;
    const T* const from = static_cast<const T*>(pass_.keys.data) + kv_ * pass_.keys.head_stride + i;
    for (int number = threadIdx.x / kSlice; number < kKeys; number += kThreads / kSlice) {
      const bool there = number < keys && i < pass_.d;
      const float x = there ? to_float(from[(key + number) * pass_.keys.token_stride]) : 0;
      split<kKeyTerms<T>>(
          x, [&](int term, __nv_bfloat16 part) { room_.keys[term][number][column] = part; });
    }
  }

  // Products of all lines and some keys.
  __device__ void multiply(int64_t key, int64_t keys, bool first) {
    using namespace nvcuda;
    const int warp = threadIdx.x / kWarp;
    const int row = warp / (kKeys / kTile) * kTile, column = warp % (kKeys / kTile) * kTile;
    wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sum;
    wmma::fill_fragment(sum, 0.0F);
    const int64_t slices = (pass_.d + kSlice - 1) / kSlice;
    for (int64_t slice = 0; slice < slices; ++slice) {
      if (slice > 0) __syncthreads();
      if (first || slices > 1) load_queries(slice);
      load_keys(slice, key, keys);
      __syncthreads();
      const int64_t left = pass_.d - slice * kSlice;
      for (int i = 0; i < kSlice && i < left; i += kTile) {
        wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, __nv_bfloat16, wmma::row_major> query;
        wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, __nv_bfloat16, wmma::col_major> of_key;
        // Terms that together are beyond float32's digits are left out.
#pragma unroll
        for (int b = 0; b < kKeyTerms<T>; ++b) {
          wmma::load_matrix_sync(of_key, &room_.keys[b][column][i], kRoom);
#pragma unroll
          for (int a = 0; a + b < kTerms; ++a) {
            wmma::load_matrix_sync(query, &room_.queries[a][row][i], kRoom);
            wmma::mma_sync(sum, query, of_key, sum);
          }
        }
      }
    }
    wmma::store_matrix_sync(&room_.products[row][column], sum, kProducts, wmma::mem_row_major);
  }

  // Adds what a line's moved logits are to its sums. A warp takes a line.
  __device__ void add_line(int index, int64_t key, int64_t keys) {
    const int number = threadIdx.x / kWarp * kLinesPerWarp + index;
    if (number >= lines_) return;
    const Line& one = room_.lines[number];
    const RowLogits logits(pass_, one.head, one.row);
    const auto mean = static_cast<float>(pass_.about[(one.head * pass_.rows + one.row) * 2]);
    float x = 0, squares = 0, with_key = 0, with_place = 0;
    for (int64_t i = threadIdx.x % kWarp; i < keys; i += kWarp) {
      const int64_t j = key + i, place = j + one.move;
      if (j < one.from || j >= one.to) continue;
      const float of_key = logits.uncapped(j) - mean, at_place = logits.uncapped(place) - mean;
      float moved = 0;
      if (pass_.cos == nullptr) {
        moved = of_key + logits.slope * static_cast<float>(one.move);
      } else {
        moved = logits.scale * room_.products[number][i] - mean -
                logits.slope * static_cast<float>(logits.t - place);
      }
      x += moved;
      squares += moved * moved;
      with_key += moved * of_key;
      with_place += moved * at_place;
    }
    const float found[kSums] = {x, squares, with_key, with_place};
#pragma unroll
    for (int i = 0; i < kSums; ++i) sums_[index][i] += found[i];
  }

  __device__ void write() {
    for (int index = 0; index < kLinesPerWarp; ++index) {
      const int number = threadIdx.x / kWarp * kLinesPerWarp + index;
      if (number >= lines_) return;
      const Line& one = room_.lines[number];
      double* const to =
          pass_.moved + ((one.head * pass_.rows + one.row) * pass_.runs + run_of(one.row)) * kSums;
      for (int i = 0; i < kSums; ++i) {
        const double sum = warp_sum(sums_[index][i]);
        if (threadIdx.x % kWarp == 0) to[i] = sum;
      }
    }
  }

  const RowsPass& pass_;
  RunRoom<T>& room_;
  KeyRunTask task_;
  int64_t kv_;
  int64_t first_head_, heads_, begin_line_, lines_;
  double sums_[kLinesPerWarp][kSums] = {};
};

template <typename T>
__global__ void __launch_bounds__(kThreads) move_key_runs(RowsPass pass) {
  extern __shared__ __align__(128) unsigned char bytes[];
  KeyRun<T> run(pass, *reinterpret_cast<RunRoom<T>*>(bytes));
  if (!run.empty()) run.add();
}

template <typename T>
void launch(const RowsPass& pass, cudaStream_t stream) {
  constexpr int kBytes = sizeof(RunRoom<T>);
  static const cudaError_t allowed =
      cudaFuncSetAttribute(move_key_runs<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA kernel move_key_runs: ") +
                             cudaGetErrorString(allowed));
  }
  const dim3 grid(static_cast<unsigned>(pass.task_count), static_cast<unsigned>(pass.keys.count),
                  static_cast<unsigned>((pass.most_lines + kLines - 1) / kLines));
  move_key_runs<T><<<grid, kThreads, kBytes, stream>>>(pass);
  check_launch("move_key_runs");
}

}  // namespace

void moved_keys(const RowsPass& pass, Stream stream) {
  if (pass.task_count == 0) return;
  if (pass.type == Number::float32) {
    launch<float>(pass, native(stream));
  } else {
    launch<__nv_bfloat16>(pass, native(stream));
  }
}

}  // namespace ropewalk::cuda
