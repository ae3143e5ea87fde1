#pragma once

#include <cstdint>

#include "ropewalk/kernels/gpu/passes.h"

// Rows of attention on a GPU (kernels/attention/rows_gpu.h). All pointers are to memory of the GPU.
namespace ropewalk::cuda {

inline constexpr int64_t kMostRowDimensions = 512;
// Products of rows and heads that the kernel of moved keys computes together.
inline constexpr int64_t kMovedLines = 8;
// Some keys of one run, and neighbouring rows that see some of them.
struct KeyRunTask {
  int32_t begin = 0, end = 0;  // positions of the keys
  int32_t first_row = 0, rows = 0;
  int32_t run = 0;  // the run's number
};
struct RowsPass {
  int64_t heads = 0;
  int64_t rows = 0;
  int64_t tokens = 0;
  const int32_t* t = nullptr;       // [rows]: positions of the queries, ascending
  const int32_t* ids = nullptr;     // [tokens]
  const float* products = nullptr;  // [heads, rows, tokens]: queries times keys
  float scale = 1;
  float cap = 0;                  // 0: none
  int64_t window = 0;             // 0: none
  const float* slopes = nullptr;  // [heads]; null: none
  const float* sinks = nullptr;   // [heads]; null: none
  bool places = false;            // whether the layer has places (moved_keys.h)
  double* numbers = nullptr;      // [heads, rows, RowNumber::count]
  double* distances = nullptr;    // [heads, rows, parts]
  int64_t parts = 0;
  double* about = nullptr;  // [heads, rows, 2]: mean of late logits, sum of squares about it
  // Of all rows of the document, of which these begin at `earlier`.
  int64_t document_rows = 0;
  int64_t earlier = 0;
  float* strongest_p = nullptr;      // [heads, document_rows, kStrongest]; 0: there is none
  int32_t* strongest_key = nullptr;  // [heads, document_rows, kStrongest]

  // Keys that change places.
  const KeyRunTask* tasks = nullptr;
  int64_t task_count = 0;
  int64_t runs = 0;                     // the most runs that a row sees
  const int32_t* first_run = nullptr;   // [rows]: number of the first run that each row sees
  const int32_t* row_runs = nullptr;    // [rows]: how many it sees
  const int32_t* moves = nullptr;       // [rows, runs]: how far the keys of each run move
  double* moved = nullptr;              // [heads, rows, runs, 4]: sums of moved logits
  const int32_t* first_head = nullptr;  // [KV heads + 1]: the heads that read each
  Number type = Number::float32;        // of q and keys
  const void* q = nullptr;              // [heads, rows, d]
  StridedHeads keys;                    // all of `count` are read; `chosen` is not used
  int64_t d = 0;
  const float* cos = nullptr;  // [positions, pairs]; null: nothing turns
  const float* sin = nullptr;
  int64_t pairs = 0;
  bool interleaved = false;
};
// The numbers of each row but the last five, and those of keys that change places.
void row_numbers(const RowsPass& pass, Stream stream);
void moved_keys(const RowsPass& pass, Stream stream);

// Adds the rows' numbers to sums by octave of position. Strides count numbers from head to head.
struct RowSumsPass {
  const int32_t* octave_rows = nullptr;  // [octaves + 1]: the first row of each octave
  int64_t octaves = 0;
  double* sums = nullptr;      // [octaves, RowNumber::count]
  double* attended = nullptr;  // [octaves, parts]
  double* largest = nullptr;   // [1]
  int64_t stride_sums = 0, stride_attended = 0, stride_largest = 0;
};

// The strongest links of all rows of a document are added to those of earlier documents.
struct EdgesPass {
  int64_t heads = 0;
  int64_t rows = 0;
  int64_t tokens = 0;
  int64_t document = 0;
  const int32_t* t = nullptr;
  const int32_t* ids = nullptr;
  const float* strongest_p = nullptr;
  const int32_t* strongest_key = nullptr;
  double* edges = nullptr;        // [kEdges, EdgeNumber::count]
  double* edge_tokens = nullptr;  // [kEdges, 2, kEdgeTokens]
  int64_t stride_edges = 0, stride_tokens = 0;
};
// With no `edges`, these are left.
void add_rows(const RowsPass& pass, const RowSumsPass& to, const EdgesPass& edges, Stream stream);

// The length of the longest vector of each head, where it exceeds what is there.
struct LongestPass {
  Number type = Number::float32;
  StridedHeads queries;
  StridedHeads keys;
  int64_t tokens = 0;
  int64_t d = 0;
  double* longest_query = nullptr;
  double* longest_key = nullptr;
  int64_t stride_query = 0, stride_key = 0;
};
void run(const LongestPass& pass, Stream stream);

}  // namespace ropewalk::cuda
