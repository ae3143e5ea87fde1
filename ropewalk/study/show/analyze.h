#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

struct AnalyzeOptions {
  std::vector<std::string> captures;  // folders, optionally with a label: LABEL=PATH
  std::filesystem::path out;          // folder of the tables
  bool keep_order = false;            // keep the order of the captures; else order by their labels
  int64_t components = 10;
  std::string from = "auto";        // moments, vectors, or auto: moments if there are any
  std::optional<int64_t> kv_group;  // query heads per KV head, where a folder does not state it
  ChangeOptions changes;
};

// Writes the tables of captures (tables.h). Throws UsageError where `out` cannot be their folder,
// before anything is read, and InputError where captures do not fit into one table. A warning says
// where pairs are lost (analysis/run/comparable.h).
void analyze(const AnalyzeOptions& options);

// Parses the argument of analyze for one capture: LABEL=PATH, unless the whole argument is an
// existing path. Throws UsageError where the label is empty or not text.
struct CaptureArgument {
  std::filesystem::path folder;
  std::string label;  // empty: the label that the capture states
};
CaptureArgument parse_capture(const std::string& text);

// The analysis of one capture; `span` as analyze_capture takes it.
CheckpointTable analyze_folder(const std::filesystem::path& capture, const AnalyzeOptions& options,
                               int64_t span = 0);

// Puts baselines first and the others in the order of training, if every label names a step;
// numbers them from 0. Returns whether the order changed.
bool order_by_training(std::vector<CheckpointTable>& checkpoints);

// Joins captures of one model on different documents into a new folder.
void merge_captures(const std::vector<std::filesystem::path>& captures,
                    const std::filesystem::path& out);

}  // namespace ropewalk
