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

// The model behind a checkpoint's numbers and how it was run. Empty and 0: not known, as of
// vectors that another program wrote.
struct CheckpointOrigin {
  std::string architecture;  // model_type
  int64_t layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  std::string dtype;    // of the forward pass
  std::string device;   // "cpu" or "cuda"
  int64_t context = 0;  // tokens per document at most
  std::vector<std::string>
      accumulators{};  // beside the second moments: names of accumulators, sorted
};

// One statistic of a checkpoint's heads, by row. NaN: missing or unknown.
struct HeadColumn {
  std::vector<double> value;
  std::vector<double> se;
  // Without each block, of each head on PC0: [heads, blocks]. Empty: the table was read.
  std::vector<double> replicates;
};

// A head's PC0, to be found again in the next checkpoint.
struct HeadAxis {
  std::vector<double> vector;  // of length 1, with the sign of r_q and r_k
  double drift = 0;            // its product with the drift axis; NaN: there is none
  double sign = 1;             // times this, it points the way that the run carries
};

// All heads of one checkpoint: one row per head and component, in columns. A number per head stands
// in each of its rows.
struct CheckpointTable {
  static constexpr int64_t kUnknown = -1;

  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  int64_t step = kUnknown;         // of training
  int64_t tokens = kUnknown;       // that it had read until then
  bool random = false;             // fresh weights: a baseline beside the run
  bool independent_model = false;  // one of several models: no step of a run; they all have order 0
  CheckpointOrigin origin;
  LogitUnits units;
  int64_t last_layer = 0;  // the model's highest layer index; of a table that was read, the highest
                           // seen
  // Which documents were read and in which of how many blocks each lies: two checkpoints are paired
  // where these agree.
  std::vector<std::pair<int64_t, uint64_t>> documents;
  bool known_documents = true;  // not where vectors came without their tokens
  int64_t blocks = 0;

  std::vector<int64_t> layer;
  std::vector<int64_t> q_head;
  std::vector<int64_t> pc;
  std::vector<int64_t> kv_head;  // here and below, kUnknown where the table does not say
  std::vector<int64_t> rope;     // 1, or 0 on a NoPE layer
  std::vector<int64_t> n_q;      // tokens
  std::vector<int64_t> n_k;
  std::vector<int64_t> n_blocks;
  std::vector<std::string> flag;       // of qk.csv: names joined by ';'
  std::vector<std::string> head_flag;  // of heads.csv
  std::vector<HeadAxis> axes;          // PC0, by head, not by row; empty: the table was read
  std::vector<HeadColumn> columns;     // in the order of statistics()
  std::vector<double> block_sizes;     // [heads, blocks]: tokens left out with each replicate
  std::vector<HeadSeries> series;      // in the order of series(); empty: no such table was read
  std::vector<std::vector<double>> grids;  // points that heads share: thetas of pairs, distances
  std::vector<std::string> series_flag;    // by head: of bands.csv and curves.csv
  std::vector<LossRow> loss;  // of all positions, then by bin; empty: not measured, or not read
  std::vector<LossPart> loss_parts;  // of documents; empty: the table was read
  std::vector<EdgeRow> edges;        // by head, the strongest first; empty: none, or not read

  size_t rows() const { return layer.size(); }
  // Rows of PC0, one per head: a head's number is its place among them.
  std::vector<size_t> head_rows() const;
  const HeadColumn& column(std::string_view key) const;
};

// Checkpoints in the order of training: what the analysis makes, what anyone's qk.csv is read into,
// and what figures and the report take.
struct RunTable {
  std::string source;  // the file, for messages
  std::vector<CheckpointTable> checkpoints;
};

// Adds a name to flags that are joined by ';'.
void add_flag(std::string& flags, std::string_view name);

// Adds the heads of another part of the same checkpoint.
void append_heads(CheckpointTable& checkpoint, const CheckpointTable& part);

// The table as its files have it: 9 significant digits, means over heads of these, no replicates.
RunTable rounded_to_file(const std::vector<CheckpointTable>& checkpoints, std::string source);

}  // namespace ropewalk
