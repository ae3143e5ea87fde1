#include "ropewalk/study/show/watched_steps.h"

#include <cmath>
#include <fstream>
#include <optional>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/analyze/block_trend.h"
#include "ropewalk/analysis/run/carried_signs.h"
#include "ropewalk/analysis/run/summary.h"
#include "ropewalk/analysis/table/analysis_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/experiment/training_time.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

CheckpointTable analyzed(const CaptureMoments& moments, int64_t components) {
  CheckpointTable analysis = analyze_capture(moments, components, moments.info.label);
  fill_training_time(analysis);
  return analysis;
}

Json summary_of(CheckpointTable analysis) {
  std::vector<CheckpointTable> alone;
  alone.push_back(std::move(analysis));
  carry_signs(alone);
  return summarize(alone).summary;
}

Json numbers_or_null(const std::vector<double>& values, const std::vector<size_t>& rows) {
  Json list = Json::array();
  for (const size_t row : rows)
    list.push_back(std::isnan(values[row]) ? Json() : Json(values[row]));
  return list;
}

// What tells whether heads are well: how far their logits spread. `setting`: what moves this
// without the weights.
Json health_of(const CheckpointTable& analysis) {
  const std::vector<size_t> rows = analysis.head_rows();
  const HeadColumn& spread = analysis.column("logit_sd");
  Json layers = Json::array(), heads = Json::array();
  for (const size_t row : rows) {
    layers.push_back(analysis.layer[row]);
    heads.push_back(analysis.q_head[row]);
  }
  return {{"layer", layers},
          {"q_head", heads},
          {"logit_sd", numbers_or_null(spread.value, rows)},
          {"logit_sd_se", numbers_or_null(spread.se, rows)},
          {"setting", analysis.origin.context}};
}

CheckpointTable read_analysis(const fs::path& folder) {
  const fs::path path = folder / kAnalysisName;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw SystemError("{}: cannot be read", path.string());
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  return unpack_analysis(bytes, path.string());
}

// The analysis of a step; empty, with a warning, where it is damaged.
std::optional<CheckpointTable> analysis_of(const fs::path& folder, int64_t components) {
  std::error_code ignored;
  const bool moments = fs::exists(folder / kMomentsName, ignored);
  try {
    return read_analysis(folder);
  } catch (const std::runtime_error& error) {
    if (!moments) {
      log::warning("{}; continuing without this step", error.what());
      return std::nullopt;
    }
  }
  try {
    return analyzed(read_capture(folder, Blocks::needed, Tokens::all), components);
  } catch (const std::runtime_error& error) {
    log::warning("{}; continuing without this step", error.what());
    return std::nullopt;
  }
}

}  // namespace

Json write_step(const fs::path& folder, const CaptureMoments& moments, const MeasuredStep& measured,
                int64_t components, bool keep_moments) {
  CheckpointTable analysis = analyzed(rounded_to_file(moments), components);
  analysis.step = measured.step;
  std::vector<double> steps;
  for (const int64_t block : nonempty_blocks(moments)) {
    const auto b = static_cast<size_t>(block);
    if (b < measured.of_blocks.size()) steps.push_back(measured.of_blocks[b]);
  }
  const int64_t trends = flag_trends(analysis, steps);
  AtomicFolder step(folder);
  if (keep_moments) {
    write_moments(step.path() / kMomentsName, moments);
    describe_in(step.path(), moments.info);
  }
  write_file_atomically(step.path() / kAnalysisName, pack_analysis(analysis));
  step.commit();
  Json health = health_of(analysis);
  Json summary = summary_of(std::move(analysis));
  summary["trend"] = trends;
  summary["health"] = std::move(health);
  return summary;
}

void write_tables_of_steps(const std::vector<fs::path>& folders, const fs::path& out,
                           int64_t components) {
  std::vector<CheckpointTable> checkpoints;
  for (const fs::path& folder : folders) {
    throw_if_interrupted();
    std::optional<CheckpointTable> found = analysis_of(folder, components);
    if (!found) continue;
    found->order = static_cast<int64_t>(checkpoints.size());
    checkpoints.push_back(std::move(*found));
  }
  if (checkpoints.empty()) {
    throw InputError("{}: none of {} steps can be read", out.string(), folders.size());
  }
  write_tables(out, std::move(checkpoints));
}

}  // namespace ropewalk
