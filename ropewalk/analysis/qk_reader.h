#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// One component of one query head. NaN: missing.
struct QkRow {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t pc = 0;
  double r_q = 0;
  double r_k = 0;
  double explained_variance = 0;
  std::optional<bool> rope;  // unknown where the table does not say
  std::optional<int64_t> kv_head;
  double r_q_se = 0;
  double r_k_se = 0;
  double explained_variance_se = 0;
  double pc0_stability = 0;
  std::optional<int64_t> n_q;
  std::optional<int64_t> n_k;
  std::optional<int64_t> n_blocks;
  std::string flag;
};

struct QkCheckpoint {
  std::string label;
  std::string model;      // empty where the table does not say
  std::string phase;      // empty where the table does not say
  bool baseline = false;  // flagged kRandomWeights: not part of the run
  std::vector<QkRow> rows;
};

// Anyone's qk.csv, checkpoints in the order of training.
struct QkTable {
  std::string source;  // the file, for messages
  std::vector<QkCheckpoint> checkpoints;
};

// Needs the columns checkpoint (or model), layer, q_head (or head), pc, r_q and r_k; takes the
// others of qk.csv where they are there (but `class`, which follows from r_q and r_k), and ignores
// the rest. Checkpoints are ordered by `order`, else by first appearance. Throws InputError naming
// file, line, column, what was found and what was expected.
QkTable read_qk_table(const std::filesystem::path& path);

// The same from the file's text.
QkTable parse_qk_table(std::string_view text, const std::string& source);

}  // namespace ropewalk
