#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/figures/parts/time_axis.h"
#include "ropewalk/study/ablation/ablation_job.h"
#include "ropewalk/study/ablation/captured_model.h"
#include "ropewalk/study/source/corpus_source.h"

namespace ropewalk {

struct AblateOptions {
  std::filesystem::path capture;
  CapturedModelOptions model;
  CorpusSource corpus;  // fields that it does not name are taken from the capture
  std::optional<std::filesystem::path> tokenizer;  // default: the capture's
  bool chunk = false;                              // cut texts into documents
  std::optional<int64_t> documents;                // default: all that are long enough
  std::vector<std::string> sets;                   // analysis/ablation/set_name.h
  std::vector<std::string> edits;                  // analysis/ablation/edit_name.h
  int64_t controls = kDefaultControls;
  std::filesystem::path out;
  std::vector<std::string> formats = {"png", "svg", "pdf"};
};

// Measures what edits of sets of heads cost, compared with random sets, and writes `out`: the
// tables (analysis/ablation/effect_table.h) and the figure `ablate`. While it runs, edits/ has one
// file per finished edit, from which an interrupted ablation resumes. Returns the result in words.
std::string ablate(const AblateOptions& options);

// Describes what ablate() would do. Writes nothing.
std::string describe_ablate(const AblateOptions& options);

// Writes tables and figures of one or several checkpoints; returns the files, relative to `out`.
std::vector<std::filesystem::path> write_ablations(const std::vector<Ablation>& checkpoints,
                                                   const std::filesystem::path& out,
                                                   const std::vector<std::string>& formats,
                                                   TimeAxis time = TimeAxis::labels);

}  // namespace ropewalk
