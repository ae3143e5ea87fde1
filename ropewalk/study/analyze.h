#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/estimate.h"

namespace ropewalk {

inline constexpr int64_t kMostComponents = 1024;

struct AnalyzeOptions {
  std::vector<std::filesystem::path> captures;  // folders, in the order of training
  std::filesystem::path out;                    // qk.csv; summary.json goes beside it
  int64_t components = 10;
  std::string from = "auto";        // moments, vectors, or auto: moments where there are any
  std::optional<int64_t> kv_group;  // query heads a KV head serves, where a folder does not say
};

// Writes qk.csv and summary.json from captures.
void analyze(const AnalyzeOptions& options);

// Its two halves: the analysis of one capture, and the tables of several. summary.json goes beside
// `table`.
CheckpointAnalysis analyze_folder(const std::filesystem::path& capture,
                                  const AnalyzeOptions& options);
void write_tables(const std::filesystem::path& table,
                  const std::vector<CheckpointAnalysis>& checkpoints);

// Joins captures of one model on different documents into a new folder.
void merge_captures(const std::vector<std::filesystem::path>& captures,
                    const std::filesystem::path& out);

}  // namespace ropewalk
