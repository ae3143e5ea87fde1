#include <cstdint>

#include "ropewalk/kernels/attention/row_columns.h"
#include "ropewalk/kernels/attention/row_logits.cuh"
#include "ropewalk/kernels/gpu/gpu_common.cuh"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk::cuda {
namespace {

using Row = RowNumber;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

// Correlations of moved logits with those at the same places, and of the same keys. A warp takes a
// row.
__device__ void correlate(const RowsPass& pass, int64_t head, int64_t row) {
  const RowLogits logits(pass, head, row);
  if (!pass.places || logits.t < kFirstMoved) return;
  const int64_t at = head * pass.rows + row;
  enum { x, squares, with_key, with_place, sums };
  double sum[sums] = {};
  for (int64_t run = threadIdx.x % kWarp; run < pass.runs; run += kWarp) {
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
  for (int64_t i = threadIdx.x; i < to.octaves * columns; i += kThreads) {
    const int64_t octave = i / columns, column = i % columns;
    double sum = 0;
#pragma unroll 4
    for (int64_t row = to.octave_rows[octave]; row < to.octave_rows[octave + 1]; ++row) {
      sum += from[row * columns + column];
    }
    sums[i] += sum;
  }
}

// A block takes a head.
__global__ void __launch_bounds__(kThreads) add_row_numbers(RowsPass pass, RowSumsPass to) {
  const int64_t head = blockIdx.x;
  const int warp = threadIdx.x / kWarp;
  for (int64_t row = warp; row < pass.rows; row += kWarps) correlate(pass, head, row);
  double* const sums = to.sums + head * to.stride_sums;
  __shared__ double before;  // rows of earlier documents
  if (threadIdx.x == 0) {
    before = 0;
    for (int64_t octave = 0; octave < to.octaves; ++octave) {
      before += sums[octave * Row::count + Row::rows];
    }
  }
  __syncthreads();
  const double* const numbers = pass.numbers + head * pass.rows * Row::count;
  if (threadIdx.x == 0) {
    double* const largest = to.largest + head * to.stride_largest;
    double most = before > 0 ? *largest : numbers[Row::largest];
    for (int64_t row = 0; row < pass.rows; ++row) {
      most = fmax(most, numbers[row * Row::count + Row::largest]);
    }
    *largest = most;
  }
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

  __device__ bool insert(int which) {
    const double* const one = added[which];
    int at = kEdges;
    while (at > 0 && (edge[at - 1][EdgeNumber::p] == 0 || comes_before(one, edge[at - 1]))) --at;
    if (at == kEdges) return false;
    for (int i = kEdges - 1; i > at; --i) {
      for (int n = 0; n < EdgeNumber::count; ++n) edge[i][n] = edge[i - 1][n];
      from[i] = from[i - 1];
    }
    for (int n = 0; n < EdgeNumber::count; ++n) edge[at][n] = one[n];
    from[at] = kEdges + which;
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
__global__ void __launch_bounds__(kThreads) add_strongest(EdgesPass pass) {
  __shared__ EdgeList list;
  __shared__ bool changed;
  constexpr int64_t kTokens = 2 * kEdgeTokens;
  __shared__ double tokens[kEdges][kTokens];
  const int64_t head = blockIdx.x;
  double* const edges = pass.edges + head * pass.stride_edges;
  double* const all_tokens = pass.edge_tokens + head * pass.stride_tokens;
  for (int i = threadIdx.x; i < kEdges * EdgeNumber::count; i += kThreads) {
    list.edge[i / EdgeNumber::count][i % EdgeNumber::count] = edges[i];
  }
  for (int i = threadIdx.x; i < kEdges; i += kThreads) list.from[i] = i;
  __syncthreads();
  if (threadIdx.x < kWarp) find_added(pass, head, list);
  if (threadIdx.x == 0) {
    changed = false;
    for (int i = 0; i < kStrongest; ++i) {
      if (list.added[i][EdgeNumber::p] > 0 && list.insert(i)) changed = true;
    }
  }
  __syncthreads();
  if (!changed) return;
  for (int64_t i = threadIdx.x; i < kEdges * kTokens; i += kThreads) {
    const int from = list.from[i / kTokens];
    tokens[i / kTokens][i % kTokens] =
        from < kEdges ? all_tokens[from * kTokens + i % kTokens]
                      : token_near(pass, list.added[from - kEdges], i % kTokens);
  }
  __syncthreads();
  for (int64_t i = threadIdx.x; i < kEdges * kTokens; i += kThreads) {
    all_tokens[i] = tokens[i / kTokens][i % kTokens];
  }
  for (int i = threadIdx.x; i < kEdges * EdgeNumber::count; i += kThreads) {
    edges[i] = list.edge[i / EdgeNumber::count][i % EdgeNumber::count];
  }
}

// A warp takes some tokens of a head.
template <typename T>
__global__ void __launch_bounds__(kThreads) find_longest(LongestPass pass) {
  const int64_t stream = blockIdx.y;
  const bool query = stream < pass.queries.count;
  const StridedHeads& heads = query ? pass.queries : pass.keys;
  const int64_t index = query ? stream : stream - pass.queries.count;
  const T* const first =
      static_cast<const T*>(heads.data) + heads.chosen[index] * heads.head_stride;
  const int64_t warps = static_cast<int64_t>(gridDim.x) * kWarps;
  double most = 0;
  for (int64_t t = blockIdx.x * kWarps + threadIdx.x / kWarp; t < pass.tokens; t += warps) {
    double squares = 0;
    for (int64_t i = threadIdx.x % kWarp; i < pass.d; i += kWarp) {
      const float x = to_float(first[t * heads.token_stride + i]);
      squares += static_cast<double>(x) * x;
    }
    most = fmax(most, warp_sum(squares));
  }
  if (threadIdx.x % kWarp > 0 || !(most > 0)) return;
  double* const to = query ? pass.longest_query + index * pass.stride_query
                           : pass.longest_key + index * pass.stride_key;
  // Numbers that are not negative are ordered as their bits are.
  atomicMax(reinterpret_cast<unsigned long long*>(to),
            static_cast<unsigned long long>(__double_as_longlong(sqrt(most))));
}

}  // namespace

void add_rows(const RowsPass& pass, const RowSumsPass& to, Stream stream) {
  add_row_numbers<<<static_cast<unsigned>(pass.heads), kThreads, 0, native(stream)>>>(pass, to);
  check_launch("add_row_numbers");
}

void add_edges(const EdgesPass& pass, Stream stream) {
  add_strongest<<<static_cast<unsigned>(pass.heads), kThreads, 0, native(stream)>>>(pass);
  check_launch("add_strongest");
}

void run(const LongestPass& pass, Stream stream) {
  const auto blocks = static_cast<unsigned>((pass.tokens + 16 * kWarps - 1) / (16 * kWarps));
  const dim3 grid(blocks, static_cast<unsigned>(pass.queries.count + pass.keys.count));
  if (pass.type == Number::float32) {
    find_longest<float><<<grid, kThreads, 0, native(stream)>>>(pass);
  } else {
    find_longest<__nv_bfloat16><<<grid, kThreads, 0, native(stream)>>>(pass);
  }
  check_launch("find_longest");
}

}  // namespace ropewalk::cuda
