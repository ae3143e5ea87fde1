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
  std::vector<std::string> captures;  // folders, each with the label to give it: LABEL=PATH
  std::filesystem::path out;          // folder of the tables
  bool keep_order = false;            // of the captures; else by their labels
  int64_t components = 10;
  std::string from = "auto";        // moments, vectors, or auto: moments where there are any
  std::optional<int64_t> kv_group;  // query heads a KV head serves, where a folder does not say
  ChangeOptions changes;
};

// Writes the tables of captures (tables.h). Throws UsageError where `out` cannot be their folder,
// before anything is read, and InputError where captures cannot stand in one; a warning says
// where pairs are lost (analysis/run/comparable.h).
void analyze(const AnalyzeOptions& options);

// A capture as analyze is given it: LABEL=PATH where that is not a path itself. Throws UsageError
// where the label is empty or no text.
struct GivenCapture {
  std::filesystem::path folder;
  std::string label;  // empty: the capture's own
};
GivenCapture parse_capture(const std::string& text);

// The analysis of one capture; `span` as analyze_capture takes it.
CheckpointTable analyze_folder(const std::filesystem::path& capture, const AnalyzeOptions& options,
                               int64_t span = 0);

// Puts baselines first and the others in the order of training, by their labels where each of them
// names a step; numbers them from 0. Returns whether anything moved.
bool order_by_training(std::vector<CheckpointTable>& checkpoints);

// Joins captures of one model on different documents into a new folder.
void merge_captures(const std::vector<std::filesystem::path>& captures,
                    const std::filesystem::path& out);

}  // namespace ropewalk
