#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/forecast/forecast_check.h"
#include "ropewalk/study/ablation/captured_documents.h"
#include "ropewalk/study/ablation/captured_model.h"

namespace ropewalk {

struct ForecastOptions {
  std::filesystem::path capture;
  int64_t context = 0;             // tokens that the model shall read
  std::vector<std::string> rope;   // analysis/forecast/rope_spec.h
  std::optional<int64_t> trained;  // default: what the model's config states
  bool check = false;              // measure the loss under every setting
  CapturedModelOptions model;      // for the check, as are the documents
  CapturedDocumentsOptions corpus;
  std::filesystem::path out;
  std::vector<std::string> formats = {"png", "svg", "pdf"};
};

// Computes what RoPE settings would do to the heads of a capture's model at a longer context, and
// writes `out`: the tables (analysis/forecast/forecast_table.h) and the figure `forecast`. `out`
// appears only when it is complete. Returns the result in words.
std::string forecast(const ForecastOptions& options);

}  // namespace ropewalk
