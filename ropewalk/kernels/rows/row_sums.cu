#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/rows/row_logits.cuh"

namespace ropewalk::cuda {
namespace {

using Row = RowNumber;

constexpr int kThreads = 256;
constexpr int kAddThreads = 1024;

// Correlations of moved logits with those at the same places, and of the same keys. A warp takes a
// row.
__device__ void correlate(const RowsPass& pass, int64_t head, int64_t row) {
  const RowLogits logits(pass, head, row);
  if (!pass.places || logits.t < kFirstMoved) return;
  const int64_t at = head * pass.rows + row;
  enum { x, squares, with_key, with_place, sums };
  double sum[sums] = {};
  for (int64_t run = threadIdx.x % kWarp; run < pass.row_runs[row]; run += kWarp) {
    for (int i = 0; i < sums; ++i) sum[i] += pass.moved[(at * pass.runs + run) * sums + i];
  }
  for (int i = 0; i < sums; ++i) sum[i] = warp_sum(sum[i]);
  if (threadIdx.x % kWarp > 0) return;
  const auto n = static_cast<double>(logits.late());
  const double mean = pass.about[at * 2], before = pass.about[at * 2 + 1];
  const double variance = sum[squares] - sum[x] * sum[x] / n;
  const double floor = (n * mean * mean + before) * kStillLogits;
  if (!(before > floor && variance > floor)) return;
  const double size = sqrt(variance * before);
  double* const numbers = pass.numbers + at * Row::count;
  numbers[Row::moved_rows] = 1;
  numbers[Row::still_rows] = 0;
  numbers[Row::positional] = fmin(fmax(sum[with_place] / size, -1.0), 1.0);
  numbers[Row::symbolic] = fmin(fmax(sum[with_key] / size, -1.0), 1.0);
}

// to[octave, column] += the sum over the octave's rows of from[row, column], in their order.
__device__ void add_columns(const RowSumsPass& to, const double* from, int64_t columns,
                            double* sums) {
  for (int64_t i = threadIdx.x; i < to.octaves * columns; i += kAddThreads) {
    const int64_t octave = i / columns, column = i % columns;
    double sum = 0;
#pragma unroll 8
    for (int64_t row = to.octave_rows[octave]; row < to.octave_rows[octave + 1]; ++row) {
      sum += from[row * columns + column];
    }
    sums[i] += sum;
  }
}

// Raises the largest logit of a head; it holds nothing before its first row. The first warp alone.
__device__ void raise_largest(const RowsPass& pass, const RowSumsPass& to, int64_t head) {
  const double* const sums = to.sums + head * to.stride_sums;
  const double* const numbers = pass.numbers + head * pass.rows * Row::count;
  double before = 0;  // rows of earlier documents
  for (int64_t octave = threadIdx.x; octave < to.octaves; octave += kWarp) {
    before += sums[octave * Row::count + Row::rows];
  }
  before = warp_sum(before);
  double most = -INFINITY;
  for (int64_t row = threadIdx.x; row < pass.rows; row += kWarp) {
    most = fmax(most, numbers[row * Row::count + Row::largest]);
  }
  for (int width = kWarp / 2; width > 0; width /= 2) {
    most = fmax(most, __shfl_xor_sync(0xffffffffU, most, width));
  }
  double* const largest = to.largest + head * to.stride_largest;
  if (threadIdx.x == 0) *largest = before > 0 ? fmax(*largest, most) : most;
}

// A block takes a head.
__device__ void add_row_numbers(const RowsPass& pass, const RowSumsPass& to, int64_t head) {
  const int warp = threadIdx.x / kWarp;
  for (int64_t row = warp; row < pass.rows; row += kAddThreads / kWarp) correlate(pass, head, row);
  if (warp == 0) raise_largest(pass, to, head);
  __syncthreads();
  double* const sums = to.sums + head * to.stride_sums;
  const double* const numbers = pass.numbers + head * pass.rows * Row::count;
  add_columns(to, numbers, Row::count, sums);
  add_columns(to, pass.distances + head * pass.rows * pass.parts, pass.parts,
              to.attended + head * to.stride_attended);
}

// Whether an edge comes before another: by p, then by document, position and key.
__device__ bool comes_before(const double* a, const double* b) {
  if (a[EdgeNumber::p] != b[EdgeNumber::p]) return a[EdgeNumber::p] > b[EdgeNumber::p];
  for (const int i : {EdgeNumber::document, EdgeNumber::t, EdgeNumber::key}) {
    if (a[i] != b[i]) return a[i] < b[i];
  }
  return false;
}

// The edges of a head, and where each comes from: an edge that was there, or a new one.
struct EdgeList {
  double edge[kEdges][EdgeNumber::count];
  int from[kEdges];
  double added[kStrongest][EdgeNumber::count];

  // Puts a new edge where it belongs, if it belongs there. By a whole warp; a lane holds an edge.
  __device__ bool insert(int which) {
    static_assert(kEdges <= kWarp);
    const double* const one = added[which];
    const int lane = threadIdx.x % kWarp;
    const bool stays =
        lane < kEdges && edge[lane][EdgeNumber::p] > 0 && !comes_before(one, edge[lane]);
    const int at = __popc(__ballot_sync(0xffffffffU, stays));
    if (at == kEdges || !(one[EdgeNumber::p] > 0)) return false;
    double moved[EdgeNumber::count];
    int moved_from = 0;
    const bool moves = lane > at && lane < kEdges;
    if (moves) {
      for (int n = 0; n < EdgeNumber::count; ++n) moved[n] = edge[lane - 1][n];
      moved_from = from[lane - 1];
    }
    __syncwarp();
    if (moves) {
      for (int n = 0; n < EdgeNumber::count; ++n) edge[lane][n] = moved[n];
      from[lane] = moved_from;
    } else if (lane == at) {
      for (int n = 0; n < EdgeNumber::count; ++n) edge[at][n] = one[n];
      from[at] = kEdges + which;
    }
    __syncwarp();
    return true;
  }
};

// The id plus 1 of a token near one end of a new edge; 0: beyond the document.
__device__ double token_near(const EdgesPass& pass, const double* edge, int64_t i) {
  const int end = i < kEdgeTokens ? EdgeNumber::t : EdgeNumber::key;
  const int64_t at = static_cast<int64_t>(edge[end]) + i % kEdgeTokens - kEdgeTokensAround;
  return at >= 0 && at < pass.tokens ? pass.ids[at] + 1.0 : 0.0;
}

// The document's strongest links, found by the first warp. Rows come by position, and a row's links
// by p, then by key, so that the first of equal ones is the one to name.
__device__ void find_added(const EdgesPass& pass, int64_t head, EdgeList& list) {
  const int64_t begin = head * pass.rows * kStrongest;
  Strongest found;
  found.clear();
  for (int32_t at = threadIdx.x; at < pass.rows * kStrongest; at += kWarp) {
    found.add(pass.strongest_p[begin + at], at);
  }
  found.join_lanes();
  if (threadIdx.x > 0) return;
  for (int i = 0; i < kStrongest; ++i) {
    double* const edge = list.added[i];
    edge[EdgeNumber::p] = found.p[i];
    if (!(found.p[i] > 0)) continue;
    edge[EdgeNumber::document] = static_cast<double>(pass.document);
    edge[EdgeNumber::t] = pass.t[found.key[i] / kStrongest];
    edge[EdgeNumber::key] = pass.strongest_key[begin + found.key[i]];
  }
}

// A block takes a head.
__device__ void add_strongest(const EdgesPass& pass, int64_t head) {
  __shared__ EdgeList list;
  __shared__ bool changed;
  constexpr int64_t kTokens = 2 * kEdgeTokens;
  __shared__ double tokens[kEdges][kTokens];
  double* const edges = pass.edges + head * pass.stride_edges;
  double* const all_tokens = pass.edge_tokens + head * pass.stride_tokens;
  for (int i = threadIdx.x; i < kEdges * EdgeNumber::count; i += kAddThreads) {
    list.edge[i / EdgeNumber::count][i % EdgeNumber::count] = edges[i];
  }
  for (int i = threadIdx.x; i < kEdges; i += kAddThreads) list.from[i] = i;
  __syncthreads();
  if (threadIdx.x < kWarp) {
    find_added(pass, head, list);
    __syncwarp();
    bool any = false;
    for (int i = 0; i < kStrongest; ++i) any = list.insert(i) || any;
    if (threadIdx.x == 0) changed = any;
  }
  __syncthreads();
  if (!changed) return;
  for (int64_t i = threadIdx.x; i < kEdges * kTokens; i += kAddThreads) {
    const int from = list.from[i / kTokens];
    tokens[i / kTokens][i % kTokens] =
        from < kEdges ? all_tokens[from * kTokens + i % kTokens]
                      : token_near(pass, list.added[from - kEdges], i % kTokens);
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < kEdges * kTokens; i += kAddThreads) {
    all_tokens[i] = tokens[i / kTokens][i % kTokens];
  }
  for (int i = threadIdx.x; i < kEdges * EdgeNumber::count; i += kAddThreads) {
    edges[i] = list.edge[i / EdgeNumber::count][i % EdgeNumber::count];
  }
}

// Half of the blocks add the rows' numbers, the others edges.
__global__ void __launch_bounds__(kAddThreads)
    add_to_sums(RowsPass pass, RowSumsPass to, EdgesPass edges) {
  if (blockIdx.y == 0) {
    add_row_numbers(pass, to, blockIdx.x);
  } else {
    add_strongest(edges, blockIdx.x);
  }
}

// Some lanes take a vector together, `width` numbers at a time.
template <typename T, int width>
__global__ void __launch_bounds__(kThreads) find_longest(LongestPass pass) {
  const int64_t stream = blockIdx.y;
  const bool query = stream < pass.queries.count;
  const StridedHeads& heads = query ? pass.queries : pass.keys;
  const int64_t index = query ? stream : stream - pass.queries.count;
  const T* const first =
      static_cast<const T*>(heads.data) + heads.chosen[index] * heads.head_stride;
  int lanes = kWarp;  // of a vector
  while (lanes > 1 && lanes / 2 * width >= pass.d) lanes /= 2;
  const int64_t together = static_cast<int64_t>(gridDim.x) * kThreads / lanes;
  const int64_t begin = (blockIdx.x * static_cast<int64_t>(kThreads) + threadIdx.x) / lanes;
  float most = 0;
#pragma unroll 4
  for (int64_t t = begin; t - begin < pass.tokens; t += together) {
    float squares = 0;
    if (t < pass.tokens) {
      for (int64_t i = threadIdx.x % lanes * width; i < pass.d; i += lanes * width) {
        const auto x = *reinterpret_cast<const Pack<T, width>*>(first + t * heads.token_stride + i);
#pragma unroll
        for (int n = 0; n < width; ++n) squares += to_float(x.at[n]) * to_float(x.at[n]);
      }
    }
    for (int step = lanes / 2; step > 0; step /= 2) {
      squares += __shfl_xor_sync(0xffffffffU, squares, step);
    }
    most = fmaxf(most, squares);
  }
  for (int step = kWarp / 2; step > 0; step /= 2) {
    most = fmaxf(most, __shfl_xor_sync(0xffffffffU, most, step));
  }
  if (threadIdx.x % kWarp > 0 || !(most > 0)) return;
  double* const to = query ? pass.longest_query + index * pass.stride_query
                           : pass.longest_key + index * pass.stride_key;
  // Numbers that are not negative are ordered as their bits are.
  atomicMax(reinterpret_cast<unsigned long long*>(to),
            static_cast<unsigned long long>(__double_as_longlong(sqrt(static_cast<double>(most)))));
}

template <typename T>
void choose_width(const LongestPass& pass, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((pass.tokens + 63) / 64);
  const dim3 grid(blocks, static_cast<unsigned>(pass.queries.count + pass.keys.count));
  const auto fits = [&](const StridedHeads& heads) {
    return heads.head_stride % kWide<T> == 0 && heads.token_stride % kWide<T> == 0 &&
           reinterpret_cast<uintptr_t>(heads.data) % 16 == 0;
  };
  if (pass.d % kWide<T> == 0 && fits(pass.queries) && fits(pass.keys)) {
    find_longest<T, kWide<T>><<<grid, kThreads, 0, stream>>>(pass);
  } else {
    find_longest<T, 1><<<grid, kThreads, 0, stream>>>(pass);
  }
  check_launch("find_longest");
}

}  // namespace

void add_rows(const RowsPass& pass, const RowSumsPass& to, const EdgesPass& edges, Stream stream) {
  const dim3 grid(static_cast<unsigned>(pass.heads), edges.edges == nullptr ? 1 : 2);
  add_to_sums<<<grid, kAddThreads, 0, native(stream)>>>(pass, to, edges);
  check_launch("add_to_sums");
}

void run(const LongestPass& pass, Stream stream) {
  if (pass.type == Number::float32) {
    choose_width<float>(pass, native(stream));
  } else {
    choose_width<__nv_bfloat16>(pass, native(stream));
  }
}

}  // namespace ropewalk::cuda
