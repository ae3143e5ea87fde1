#include "ropewalk/study/show/analyze.h"

#include <algorithm>
#include <set>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/analyze/analyze_vectors.h"
#include "ropewalk/analysis/run/comparable.h"
#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/analysis/run/describe_documents_needed.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/loss.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/experiment/training_time.h"
#include "ropewalk/study/show/tables_folder.h"
#include "ropewalk/study/source/edge_texts.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool use_moments(const fs::path& folder, const std::string& from) {
  if (from == "moments") return true;
  if (from == "vectors") return false;
  if (from != "auto") throw UsageError("--from '{}' is unknown; use moments or vectors", from);
  std::error_code ignored;
  return fs::exists(folder / kMomentsName, ignored) || fs::is_regular_file(folder, ignored);
}

std::string labels_text(const std::vector<CheckpointTable>& checkpoints) {
  std::string text;
  for (const CheckpointTable& checkpoint : checkpoints) {
    text += (text.empty() ? "" : ", ") + checkpoint.label;
  }
  return printable_excerpt(text, 400);
}

}  // namespace

CheckpointTable analyze_folder(const fs::path& folder, const AnalyzeOptions& options,
                               int64_t span) {
  require_exists(folder);
  refuse_results(folder);
  if (!use_moments(folder, options.from)) {
    return analyze_vectors(folder, options.components, options.kv_group);
  }
  const CaptureMoments moments = read_capture(folder, Blocks::if_there, Tokens::sampled_too);
  CheckpointTable analysis =
      analyze_capture(moments, options.components, moments_path(folder).string(), kAnyMemory, span);
  add_edge_texts({&analysis}, tokenizer_paths(moments.info), moments.info.tokenizer);
  return analysis;
}

bool order_by_training(std::vector<CheckpointTable>& checkpoints) {
  std::vector<std::string> given;
  for (const CheckpointTable& checkpoint : checkpoints) given.push_back(checkpoint.label);
  const auto all = [&](const auto& holds) {
    return std::all_of(checkpoints.begin(), checkpoints.end(), holds);
  };
  // Where all captures state a context, contexts follow each other, and each is a run.
  const bool contexts =
      all([](const CheckpointTable& c) { return split_label(c.label).context > 0; });
  const bool steps = all(
      [](const CheckpointTable& c) { return c.random || names_step(split_label(c.label).name); });
  std::stable_sort(checkpoints.begin(), checkpoints.end(),
                   [&](const CheckpointTable& a, const CheckpointTable& b) {
                     const ContextLabel mine = split_label(a.label), other = split_label(b.label);
                     if (a.random != b.random) return a.random;
                     if (contexts && mine.context != other.context) {
                       return mine.context < other.context;
                     }
                     return steps && !a.random && trained_before(a.label, b.label);
                   });
  bool moved = false;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    checkpoints[i].order = static_cast<int64_t>(i);
    moved = moved || checkpoints[i].label != given[i];
  }
  return moved;
}

CaptureArgument parse_capture(const std::string& text) {
  const size_t at = text.find('=');
  std::error_code ignored;
  if (at == text.npos || fs::exists(text, ignored)) return {text, ""};
  CaptureArgument given{text.substr(at + 1), text.substr(0, at)};
  if (given.label.empty() || given.folder.empty() || invalid_utf8_offset(given.label)) {
    throw UsageError("'{}': expected a capture, or LABEL=CAPTURE to give it another label",
                     printable(text));
  }
  return given;
}

namespace {

// The smallest context of the captures, where all can be read; what cannot is refused in its turn.
int64_t smallest_context(const AnalyzeOptions& options) {
  int64_t smallest = 0;
  for (const std::string& text : options.captures) {
    const fs::path folder = parse_capture(text).folder;
    try {
      if (!use_moments(folder, options.from)) continue;
      const int64_t context = read_moments_head(moments_path(folder)).info.context;
      if (context > 0) smallest = smallest > 0 ? std::min(smallest, context) : context;
    } catch (const std::runtime_error&) {
      continue;
    }
  }
  return smallest;
}

}  // namespace

void analyze(const AnalyzeOptions& options) {
  const fs::path folder = tables_folder(options.out);
  std::vector<CheckpointTable> checkpoints;
  std::set<std::string> labels;
  const int64_t span = smallest_context(options);
  Progress progress("analyze", "captures", static_cast<int64_t>(options.captures.size()));
  for (const std::string& text : options.captures) {
    throw_if_interrupted();
    const auto [capture, label] = parse_capture(text);
    CheckpointTable analysis = analyze_folder(capture, options, span);
    analysis.order = static_cast<int64_t>(checkpoints.size());
    if (!label.empty()) analysis.label = label;
    if (analysis.label.empty())
      analysis.label = fs::absolute(capture).lexically_normal().filename().string();
    if (analysis.label.size() > kLongestTitle) {
      throw InputError("{}: its label has {} bytes, expected at most {}; give it another: {}={}",
                       capture.string(), analysis.label.size(), kLongestTitle, "LABEL",
                       capture.string());
    }
    if (!labels.insert(analysis.label).second) {
      throw InputError("{}: another capture is also labelled '{}'; give one another label: {}={}",
                       capture.string(), analysis.label, "LABEL", capture.string());
    }
    fill_training_time(analysis);
    checkpoints.push_back(std::move(analysis));
    progress.advance(1);
  }
  progress.finish();
  if (!options.keep_order && order_by_training(checkpoints)) {
    log::info("in the order of training: {}; --keep-order keeps the order of the arguments",
              labels_text(checkpoints));
  }
  for (const std::string& warning : check_comparable(checkpoints)) log::warning("{}", warning);
  require_unlocked(folder);
  std::error_code error;
  fs::create_directories(folder, error);
  const StudyTables tables = write_tables(folder, checkpoints, options.changes);
  log::info("{}: {}, {}, {}, {}, {} and {} of {}", folder.string(), kTable, kHeads, kBands, kCurves,
            kChanges, kSummary,
            format_number_of(static_cast<int64_t>(checkpoints.size()), "checkpoint"));
  if (const std::string needed = describe_documents_needed(tables.summary); !needed.empty()) {
    log::info("{}", needed);
  }
}

void merge_captures(const std::vector<fs::path>& captures, const fs::path& out) {
  refuse_used_folder(out);
  std::vector<MergeInput> inputs;
  for (const fs::path& capture : captures) {
    inputs.push_back({capture.string(), moments_path(capture), current_names(capture)});
  }
  std::string missing;
  const CaptureMoments merged = merge_moments(inputs, missing);
  if (!missing.empty()) {
    log::warning("no capture has {}: {} is only a part of the corpus", missing, out.string());
  }
  AtomicFolder folder(out);
  write_moments(folder.path() / kMomentsName, merged);
  describe_in(folder.path(), merged.info);
  if (merged.info.values_alone()) write_loss_tables(folder.path(), merged);
  folder.commit();
  log::info("{}, {} tokens in {}", format_number_of(merged.counts.total_documents(), "document"),
            merged.counts.total_tokens(), out.string());
}

}  // namespace ropewalk
