#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ropewalk/analysis/replicates/logit_units.h"
#include "ropewalk/analysis/table/edge_row.h"
#include "ropewalk/analysis/table/head_series.h"
#include "ropewalk/analysis/table/loss_row.h"

namespace ropewalk {

// The model behind a checkpoint's numbers, and how it was measured. Empty and 0: unknown, as for
// vectors that another program wrote.
struct CheckpointOrigin {
  std::string architecture;  // model_type
  int64_t layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  std::string dtype;      // dtype of the forward pass
  std::string device;     // "cpu" or "cuda"
  int64_t context = 0;    // largest number of tokens per document
  std::string backend{};  // the library that ran the model, with versions; empty: our own pass
  std::vector<std::string>
      accumulators{};  // names of accumulators besides the second moments, sorted
};

// One statistic of a checkpoint's heads, per row. NaN: missing or unknown.
struct HeadColumn {
  std::vector<double> value;
  std::vector<double> se;
  // Per head, the values on PC0 without each block: [heads, blocks]. Empty: the table was read from
  // a file.
  std::vector<double> replicates;
};

// A head's PC0, kept so that it can be recognised in the next checkpoint.
struct HeadAxis {
  std::vector<double> vector;  // of length 1, with the sign of r_q and r_k
  double drift = 0;            // its scalar product with the drift axis; NaN: the head has none
  double sign = 1;             // the sign that orients it like the run's axis
};

// All heads of one checkpoint: one row per head and component, stored in columns. A number per head
// is repeated in each of its rows.
struct CheckpointTable {
  static constexpr int64_t kUnknown = -1;

  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  int64_t step = kUnknown;    // training step
  int64_t tokens = kUnknown;  // tokens that it was trained on
  bool random = false;        // fresh weights: a baseline, not a part of the run
  // one of several models to be compared, not a step of a run; all of these have order 0
  bool independent_model = false;
  CheckpointOrigin origin;
  LogitUnits units;
  // the model's highest layer index; for a table from a file, the highest in the table
  int64_t last_layer = 0;
  // Which documents were read, and which of the blocks each belongs to. Two checkpoints are paired
  // where these agree.
  std::vector<std::pair<int64_t, uint64_t>> documents;
  bool known_documents = true;  // false where vectors came without their tokens
  int64_t blocks = 0;

  std::vector<int64_t> layer;
  std::vector<int64_t> q_head;
  std::vector<int64_t> pc;
  std::vector<int64_t> kv_head;  // here and below: kUnknown where the table does not say
  std::vector<int64_t> rope;     // 1; 0 in a NoPE layer
  std::vector<int64_t> n_q;      // number of query tokens
  std::vector<int64_t> n_k;
  std::vector<int64_t> n_blocks;
  std::vector<std::string> flag;         // of qk.csv: names joined by ';'
  std::vector<std::string> head_flag;    // of heads.csv
  std::vector<HeadAxis> axes;            // PC0, by head, not by row; empty: the table was read
  std::vector<HeadColumn> columns;       // in the order of statistics()
  std::vector<double> block_sizes;       // [heads, blocks]: tokens left out with each replicate
  std::vector<HeadSeries> series;        // in the order of series(); empty: no such table was read
  std::vector<SeriesGrid> grids;         // points that heads share
  std::vector<std::string> series_flag;  // by head: of bands.csv and curves.csv
  std::vector<LossRow> loss;  // of all positions, then by bin; empty: not measured, or not read
  std::vector<LossPart> loss_parts;  // of documents; empty: the table was read
  std::vector<EdgeRow> edges;        // by head, the strongest first; empty: none, or not read

  size_t rows() const { return layer.size(); }
  // The rows of PC0, one per head; a head's index is the index in this list.
  std::vector<size_t> head_rows() const;
  const HeadColumn& column(std::string_view key) const;
};

// Checkpoints in the order of training: the result of the analysis, or the contents of any qk.csv;
// the input of figures and report.
struct RunTable {
  std::string source;  // the file, for messages
  std::vector<CheckpointTable> checkpoints;
};

// Adds a name to flags that are joined by ';', and whether such flags hold a name.
void add_flag(std::string& flags, std::string_view name);
bool holds_flag(std::string_view flags, std::string_view wanted);

// Appends the heads of another part of the same checkpoint.
void append_heads(CheckpointTable& checkpoint, const CheckpointTable& part);

// The table as a reader of its files would get it: numbers with 9 significant digits, means over
// heads computed from these, no replicates.
RunTable rounded_to_file(const std::vector<CheckpointTable>& checkpoints, std::string source);

}  // namespace ropewalk
