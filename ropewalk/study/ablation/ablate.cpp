#include "ropewalk/study/ablation/ablate.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/folder_lock.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/ablate_figure.h"
#include "ropewalk/figures/render.h"
#include "ropewalk/moments/describe_difference.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/ablation/captured_documents.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kDescription = "ablate.json";
constexpr const char* kFinished = "edits";

// The inputs that the options name, opened and checked.
class AblateInputs {
 public:
  explicit AblateInputs(const AblateOptions& options)
      : options_(options), source_(moments_path(options.capture).string()) {
    for (const std::string& set : options.sets) sets_.push_back(parse_set_name(set));
    if (sets_.empty()) {
      throw UsageError(Field{"heads"},
                       ": the list is empty; expected a set such as top:dist_range:10%");
    }
    edits_ = parse_edit_names(options.edits);
    capture_ = read_capture(options.capture, Blocks::if_there, Tokens::all);
    model_ = open_captured_model(capture_.info, source_, options.model);
    log::info("{}: running in {}", capture_.info.label, model_.arithmetic());
    read_documents();
    weights_.emplace(model_.weights());
    job_.emplace(AblationInput{capture_, source_, model_, *weights_, documents_, sets_, edits_,
                               options.controls, options.out / kFinished});
  }

  AblationJob& job() { return *job_; }
  const CaptureMoments& capture() const { return capture_; }
  Json identity() const { return ablation_identity(capture_, model_, *weights_, documents_); }

 private:
  void read_documents() {
    CapturedDocuments read =
        read_for_capture({options_.corpus, options_.tokenizer, options_.chunk, options_.documents},
                         capture_.info, source_, model_);
    require_other_documents(capture_.documents, source_, read.set, read.corpus);
    documents_ = std::move(read.set);
  }

  const AblateOptions& options_;
  std::string source_;
  std::vector<SetName> sets_;
  std::vector<EditName> edits_;
  CaptureMoments capture_;
  OpenModel model_;
  DocumentSet documents_;
  std::optional<WeightReader> weights_;
  std::optional<AblationJob> job_;
};

// Whether the folder holds nothing but a lock, of this process or of one that stopped early.
bool holds_lock_alone(const fs::path& out) {
  std::error_code error;
  if (!fs::is_directory(out, error)) return false;
  const fs::directory_iterator files(out, error);
  return !error && std::all_of(begin(files), end(files), [](const fs::directory_entry& file) {
    return file.path().filename() == ".lock";
  });
}

// Accepts a folder from which an ablation can be resumed; refuses one that holds something else.
void require_own_folder(const fs::path& out, const Json& identity) {
  std::error_code ignored;
  if (!fs::exists(out / kDescription, ignored)) {
    if (!holds_lock_alone(out)) refuse_used_folder(out);
    return;
  }
  const Json known = read_json_or_null(out / kDescription);
  const Json theirs = known.is_object() ? known.value("identity", Json()) : Json();
  if (theirs == identity) return;
  throw UsageError("--out {}: holds edits of another ablation ({}); name another folder",
                   out.string(),
                   theirs.is_object() ? describe_difference(theirs, identity)
                                      : std::string("its ") + kDescription + " is damaged");
}

Json description(const Json& identity, const AblateOptions& options) {
  return {{"format", 1},
          {"identity", identity},
          {"capture", fs::absolute(options.capture).lexically_normal().string()},
          {"sets", options.sets},
          {"edits", options.edits},
          {"controls", options.controls}};
}

std::string result_text(const Ablation& ablation) {
  std::string text = fmt::format("{:<32}  {:<14}  {:>16}  {:>16}  {:>6}  {}\n", "set", "edit",
                                 "nats per token", "random sets", "p", "real");
  const auto spread = [](double value, double error) {
    if (std::isnan(value)) return std::string("-");
    return fmt::format("{:+.4f}{}", value, format_error(error, 4));
  };
  for (const Ablation::EditedSet& one : ablation.cases) {
    const EditEffect& effect = one.effects.front();
    text += fmt::format("{:<32}  {:<14}  {:>16}  {:>16}  {:>6}  {}\n",
                        ablation.sets[one.set].chosen.name.text, one.edit.text,
                        spread(effect.dloss, effect.dloss_se),
                        spread(effect.control, effect.control_sd),
                        std::isnan(effect.p) ? "-" : fmt::format("{:.3f}", effect.p),
                        !effect.real   ? "-"
                        : *effect.real ? "yes"
                                       : "no");
  }
  return text;
}

}  // namespace

std::vector<fs::path> write_ablations(const std::vector<Ablation>& checkpoints, const fs::path& out,
                                      const std::vector<std::string>& formats, TimeAxis time) {
  const UninterruptedScope unhurried;
  std::vector<FileText> tables{{out / kAblateTable, format_ablate_table(checkpoints)},
                               {out / kAblatePositions, format_ablate_positions(checkpoints)},
                               {out / kAblateDocuments, format_ablate_documents(checkpoints)},
                               {out / kAblateControls, format_ablate_controls(checkpoints)}};
  write_files_atomically(tables);
  std::vector<fs::path> files;
  for (const FileText& table : tables) files.push_back(table.path.filename());
  std::vector<Figure> figures{{kAblateFigure, ablate_figure(checkpoints.back())}};
  if (checkpoints.size() > 1) {
    figures.push_back(
        {kAblateTraining, ablate_training_figure(checkpoints.back().model, checkpoints, time)});
  }
  write_figures(figures, out / kFigures, formats);
  for (const Figure& figure : figures) {
    files.push_back(fs::path(kFigures) / (figure.name + ".vl.json"));
    for (const std::string& format : formats) {
      files.push_back(fs::path(kFigures) / (figure.name + "." + format));
    }
  }
  return files;
}

std::string ablate(const AblateOptions& options) {
  AblateInputs opened(options);
  const Json identity = opened.identity();
  require_own_folder(options.out, identity);
  const FolderLock lock(options.out);
  require_own_folder(options.out, identity);
  lock.sign();
  write_file_atomically(options.out / kDescription, description(identity, options).dump(2) + "\n");
  const Ablation ablation = opened.job().run();
  write_ablations({ablation}, options.out, options.formats);
  return result_text(ablation);
}

std::string describe_ablate(const AblateOptions& options) {
  AblateInputs opened(options);
  require_own_folder(options.out, opened.identity());
  return opened.job().describe();
}

}  // namespace ropewalk
