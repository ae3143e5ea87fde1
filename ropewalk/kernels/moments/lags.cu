#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_common.cuh"

namespace ropewalk::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = 8;
constexpr int kAtOnce = 8;  // shifts whose sums a warp holds

// The chosen query heads that read one KV head; they lie side by side.
struct QueryHeadRange {
  int64_t first = 0;
  int64_t count = 0;
};
__device__ QueryHeadRange query_heads_of(const LagsPass& pass, int64_t kv_head) {
  QueryHeadRange readers;
  for (int64_t i = 0; i < pass.queries.count; ++i) {
    if (pass.queries.chosen[i] / pass.group != kv_head) continue;
    if (readers.count == 0) readers.first = i;
    ++readers.count;
  }
  return readers;
}

template <typename T>
__device__ const T* row_of(const StridedHeads& heads, int64_t head, int64_t token) {
  return static_cast<const T*>(heads.data) + head * heads.head_stride + token * heads.token_stride;
}

// Sums the keys of every run, all of them and up to each offset. A thread takes one dimension.
template <typename T>
__global__ void sum_runs(LagsPass pass) {
  const int64_t run = blockIdx.x, kv = blockIdx.y;
  const int64_t begin = run * kLagRun;
  const int64_t tokens = min(kLagRun, pass.tokens - begin);
  for (int64_t j = threadIdx.x; j < pass.d; j += blockDim.x) {
    const T* const keys = row_of<T>(pass.keys, pass.keys.chosen[kv], begin) + j;
    float* const to = pass.within + (kv * pass.runs() + run) * pass.offsets * pass.d + j;
    float sum = 0;
    for (int t = 0; t <= kLagRun; ++t) {
      for (int i = 0; i < pass.offsets; ++i) {
        if (pass.offset[i] == t) to[i * pass.d] = sum;
      }
      if (t < tokens) sum += to_float(keys[t * pass.keys.token_stride]);
    }
    pass.before[(kv * pass.runs() + run) * pass.d + j] = sum;
  }
}

// Replaces the sums of runs by those of all runs before each.
__global__ void sum_before(LagsPass pass) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= pass.keys.count * pass.d) return;
  double* at = pass.before + i / pass.d * pass.runs() * pass.d + i % pass.d;
  double sum = 0;
  for (int64_t run = 0; run < pass.runs(); ++run, at += pass.d) {
    const double own = *at;
    *at = sum;
    sum += own;
  }
}

// Loads the neighbouring dimensions of a row that a lane takes; 0 past the end.
template <typename T, int dims, bool packed>
__device__ void load(float (&to)[dims], const T* row, int64_t from, int64_t d) {
  if constexpr (packed) {
    Pack<T, dims> some{};
    if (from < d) some = *reinterpret_cast<const Pack<T, dims>*>(row + from);
#pragma unroll
    for (int p = 0; p < dims; ++p) to[p] = to_float(some.at[p]);
  } else {
#pragma unroll
    for (int p = 0; p < dims; ++p) to[p] = from + p < d ? to_float(row[from + p]) : 0;
  }
}

// A warp's share: a run of queries, some shifts, and a slice of the dimensions. Each lane sums the
// products of its own dimensions; lanes are added once, at the end of the run.
template <typename T, int dims, int heads, bool packed>
struct LagRun {
  const LagsPass& pass;
  int64_t kv;       // index among the chosen keys
  int64_t first;    // index of the first query head among the chosen ones
  int64_t readers;  // number of query heads that are left, of which `heads` are taken
  int64_t begin, end;
  int64_t from;   // first dimension of the lane
  int shifts_at;  // index of the first shift
  float sums[kAtOnce][heads] = {};
  float queries[heads][dims] = {};  // sums of the queries

  // `inside`: no key of the run lies before the first token.
  template <bool inside>
  __device__ void add() {
    const int64_t kv_head = pass.keys.chosen[kv];
    float keys[kAtOnce][dims] = {};
    int32_t shift[kAtOnce];
    bool single[kAtOnce];
#pragma unroll
    for (int l = 0; l < kAtOnce; ++l) {
      const int i = shifts_at + l;
      shift[l] = i < pass.shifts ? pass.shift[i] : 0;
      single[l] = i < pass.singles;
    }
#pragma unroll 2
    for (int64_t t = begin; t < end; ++t) {
      float q[heads][dims];
#pragma unroll
      for (int h = 0; h < heads; ++h) {
        const int64_t reader = first + (h < readers ? h : 0);
        load<T, dims, packed>(q[h], row_of<T>(pass.queries, pass.queries.chosen[reader], t), from,
                              pass.d);
#pragma unroll
        for (int p = 0; p < dims; ++p) queries[h][p] += q[h][p];
      }
      float k[kAtOnce][dims];
#pragma unroll
      for (int l = 0; l < kAtOnce; ++l) {
        const int64_t at = t - shift[l];
        load<T, dims, packed>(k[l], row_of<T>(pass.keys, kv_head, inside || at > 0 ? at : 0), from,
                              pass.d);
        const bool there = inside || at >= 0;
#pragma unroll
        for (int p = 0; p < dims; ++p) {
          keys[l][p] = (single[l] ? 0 : keys[l][p]) + (there ? k[l][p] : 0);
#pragma unroll
          for (int h = 0; h < heads; ++h) sums[l][h] += q[h][p] * keys[l][p];
        }
      }
    }
  }

  // The sum with the keys before those that the run added up.
  __device__ double whole(int l, int h) const {
    const int i = shifts_at + l;
    double sum = sums[l][h];
    const int64_t before = i < pass.shifts ? begin - pass.shift[i] : 0;
    if (i < pass.singles || before <= 0) return sum;
    const int64_t run = kv * pass.runs() + before / kLagRun;
    const double* const runs = pass.before + run * pass.d;
    const float* const within = pass.within + (run * pass.offsets + pass.index[i]) * pass.d;
#pragma unroll
    for (int p = 0; p < dims; ++p) {
      const int64_t j = from + p;
      if (j < pass.d) sum += queries[h][p] * (runs[j] + within[j]);
    }
    return sum;
  }
};

__device__ double sum_over_lanes(double value) {
  for (int width = kWarp / 2; width > 0; width /= 2) {
    value += __shfl_xor_sync(0xffffffffU, value, width);
  }
  return value;
}

template <typename T, int dims, int heads, bool packed>
__global__ void __launch_bounds__(kWarp* kWarps) lag_runs(LagsPass pass) {
  const int lane = threadIdx.x;
  const int64_t groups = (pass.shifts + kAtOnce - 1) / kAtOnce;
  const int64_t share = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.y;
  if (share >= pass.runs() * pass.slices() * groups) return;
  const auto group = static_cast<int>(share % groups);
  const int64_t piece = share / groups;  // run and slice
  const int64_t begin = piece / pass.slices() * kLagRun;
  const int64_t kv = blockIdx.y;
  const QueryHeadRange readers = query_heads_of(pass, pass.keys.chosen[kv]);
  const int farthest = min(group * kAtOnce + kAtOnce, pass.shifts) - 1;
  for (int64_t batch = 0; batch < readers.count; batch += heads) {
    LagRun<T, dims, heads, packed> run{pass,
                                       kv,
                                       readers.first + batch,
                                       readers.count - batch,
                                       begin,
                                       min(begin + kLagRun, pass.tokens),
                                       piece % pass.slices() * pass.width() + lane * dims,
                                       group * kAtOnce};
    if (begin >= pass.shift[farthest]) {
      run.template add<true>();
    } else {
      run.template add<false>();
    }
#pragma unroll
    for (int l = 0; l < kAtOnce; ++l) {
#pragma unroll
      for (int h = 0; h < heads; ++h) {
        const double sum = sum_over_lanes(run.whole(l, h));
        const int i = group * kAtOnce + l;
        if (lane > 0 || i >= pass.shifts || batch + h >= readers.count) continue;
        const int64_t row = piece * pass.queries.count + readers.first + batch + h;
        pass.parts[row * pass.shifts + i] = sum;
      }
    }
  }
}

// A warp adds the pieces of one window, always in the same order.
__global__ void join_windows(LagsPass pass) {
  const int64_t which = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  if (which >= pass.queries.count * pass.windows) return;
  const int64_t head = which / pass.windows;
  const auto window = static_cast<int>(which % pass.windows);
  const int first = pass.first[window], last = pass.last[window];
  double all = 0;
  for (int64_t piece = threadIdx.x; piece < pass.runs() * pass.slices(); piece += kWarp) {
    const double* const part = pass.parts + (piece * pass.queries.count + head) * pass.shifts;
    all += (first < 0 ? 0 : part[first]) - (last < 0 ? 0 : part[last]);
  }
  all = sum_over_lanes(all);
  if (threadIdx.x > 0) return;
  const int64_t at = head * pass.stride + window;
  pass.sum[at] += all;
  pass.count[at] += pass.pairs[window];
}

template <typename T, int dims, int heads, bool packed>
void launch(const LagsPass& pass, cudaStream_t stream) {
  const int64_t groups = (pass.shifts + kAtOnce - 1) / kAtOnce;
  const int64_t shares = pass.runs() * pass.slices() * groups;
  const dim3 grid(static_cast<unsigned>((shares + kWarps - 1) / kWarps),
                  static_cast<unsigned>(pass.keys.count));
  lag_runs<T, dims, heads, packed><<<grid, dim3(kWarp, kWarps), 0, stream>>>(pass);
  check_launch("lag_runs");
}

template <typename T, int dims, bool packed>
void choose_heads(const LagsPass& pass, cudaStream_t stream) {
  if (pass.group == 1) return launch<T, dims, 1, packed>(pass, stream);
  if (pass.group == 2) return launch<T, dims, 2, packed>(pass, stream);
  launch<T, dims, 4, packed>(pass, stream);
}

// Whether a lane can read its numbers of a row at once.
template <typename T, int dims>
bool packs(const LagsPass& pass) {
  const auto fits = [](const StridedHeads& heads) {
    return heads.head_stride % dims == 0 && heads.token_stride % dims == 0 &&
           reinterpret_cast<uintptr_t>(heads.data) % (dims * sizeof(T)) == 0;
  };
  return pass.d % dims == 0 && fits(pass.queries) && fits(pass.keys);
}

template <typename T, int dims>
void choose_packs(const LagsPass& pass, cudaStream_t stream) {
  if (packs<T, dims>(pass)) return choose_heads<T, dims, true>(pass, stream);
  choose_heads<T, dims, false>(pass, stream);
}

template <typename T>
void sum(const LagsPass& pass, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(pass.d < 128 ? 64 : 128);
  const dim3 grid(static_cast<unsigned>(pass.runs()), static_cast<unsigned>(pass.keys.count));
  sum_runs<T><<<grid, threads, 0, stream>>>(pass);
  check_launch("sum_runs");
  const auto sums = static_cast<unsigned>(pass.keys.count * pass.d);
  sum_before<<<(sums + 127) / 128, 128, 0, stream>>>(pass);
  check_launch("sum_before");
  if (pass.width() == 64) return choose_packs<T, 2>(pass, stream);
  choose_packs<T, 4>(pass, stream);
}

}  // namespace

void run(const LagsPass& pass, Stream stream) {
  if (pass.type == Number::float32) {
    sum<float>(pass, native(stream));
  } else {
    sum<__nv_bfloat16>(pass, native(stream));
  }
  const auto windows = static_cast<unsigned>(pass.queries.count * pass.windows);
  join_windows<<<(windows + kWarps - 1) / kWarps, dim3(kWarp, kWarps), 0, native(stream)>>>(pass);
  check_launch("join_windows");
}

}  // namespace ropewalk::cuda
