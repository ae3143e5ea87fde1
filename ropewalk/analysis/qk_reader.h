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

// Needs the columns checkpoint (or model), layer, q_head (or head), pc, r_q and r_k; takes order,
// phase, rope, explained_variance and flag where they are there, and ignores others. Checkpoints
// are ordered by `order`, else by first appearance. Throws InputError naming file, line, column,
// what was found and what was expected.
QkTable read_qk_table(const std::filesystem::path& path);

// The same from the file's text.
QkTable parse_qk_table(std::string_view text, const std::string& source);

}  // namespace ropewalk
