#include "ropewalk/study/run/study_ablation.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/version.h"
#include "ropewalk/figures/ablate_figure.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/ablation/ablate.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/run/study_documents.h"
#include "ropewalk/study/show/result_files.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = "ablate";

// One checkpoint, opened to be run again.
class CheckpointAblation {
 public:
  CheckpointAblation(const Study& study, const MeasuredCheckpoint& measured,
                     const DocumentSet& documents)
      : study_(study),
        measured_(measured),
        source_(moments_path(measured.folder).string()),
        capture_(read_capture(measured.folder, Blocks::if_there, Tokens::all)) {
    ModelOptions model = measured.planned->capture.model;
    model.head = true;
    model.sliding = true;
    model.heads.reset();
    if (model.hub) fetch_weights(shared_hub(), *model.hub, {model.hub->revision, true, {}});
    model_ = open_model(model);
    require_captured_config(model_, capture_.info, source_);
    documents_ = cut_documents(documents, model_.context);
    require_other_documents(capture_.documents, source_, documents_, "the corpus");
    weights_.emplace(model_.weights());
  }

  Ablation run() const {
    const Experiment::Ablate& ablate = *study_.experiment.ablate;
    const std::string& label = measured_.planned->capture.label;
    AblationJob job({capture_, source_, model_, *weights_, documents_, ablate.sets, ablate.edits,
                     ablate.controls, study_.out / kFolder / label, /*skip_empty=*/true,
                     study_.plan.span});
    Ablation made = job.run();
    made.label = label;
    made.model = study_.experiment.models ? label : study_.experiment.name;
    made.phase = measured_.planned->phase;
    made.order = measured_.planned->order;
    made.step = measured_.planned->time.step.value_or(made.step);
    made.trained_tokens = measured_.planned->time.tokens.value_or(made.trained_tokens);
    made.independent_model = study_.experiment.models;
    return made;
  }

 private:
  const Study& study_;
  const MeasuredCheckpoint& measured_;
  std::string source_;
  CaptureMoments capture_;
  OpenModel model_;
  DocumentSet documents_;
  std::optional<WeightReader> weights_;
};

std::vector<Ablation> measure_all(const Study& study, const MeasuredStudy& measured) {
  std::vector<Ablation> made;
  for (const MeasuredCheckpoint& checkpoint : measured.checkpoints) {
    throw_if_interrupted();
    const PlannedCheckpoint& planned = *checkpoint.planned;
    log::info("{}: edits of heads", planned.capture.label);
    const Timeline::Span span(*study.timeline, "ablate", planned.capture.label);
    try {
      made.push_back(
          CheckpointAblation(study, checkpoint, study.ablate_documents[planned.text]).run());
    } catch (const InputError& error) {
      throw InputError("ablate: '{}': {}", planned.capture.label, error.what());
    } catch (const UsageError& error) {  // the file requests something that is impossible here
      throw InputError("{}: ablate: '{}': {}", study.experiment.at(study.experiment.ablate->line),
                       planned.capture.label, error.what());
    }
    const auto& hub = planned.capture.model.hub;
    if (study.options.evict && hub) evict_weights(shared_hub(), *hub);
    if (made.back().cases.empty()) made.pop_back();
  }
  if (made.empty()) {
    throw InputError("{}: ablate: no checkpoint has a head in these sets",
                     study.experiment.at(study.experiment.ablate->line));
  }
  return made;
}

}  // namespace

Stage ablation_stage(const Study& study, const MeasuredStudy& measured) {
  Json captures = Json::array(), texts = Json::array();
  for (const DocumentSet& documents : study.ablate_documents) {
    texts.push_back(documents_digest(make_records(documents.documents)));
  }
  for (const MeasuredCheckpoint& checkpoint : measured.checkpoints) {
    captures.push_back({{"label", checkpoint.planned->capture.label},
                        {"phase", checkpoint.planned->phase},
                        {"order", checkpoint.planned->order},
                        {"moments", checkpoint.info.moments},
                        {"weights", checkpoint.info.weights}});
  }
  return {"ablate",
          {{"program", version_details()},
           {"name", study.experiment.name},
           {"ablate", study.experiment.ablate->to_json()},
           {"span", study.plan.span},
           {"formats", study.options.formats},
           {"axis", time_axis_name(study.experiment.axis)},
           {"documents", texts},
           {"captures", captures}},
          [&study, &measured] {
            return write_ablations(measure_all(study, measured), study.out, study.options.formats,
                                   study.experiment.axis);
          }};
}

std::vector<Figure> ablation_figures(const Study& study, const Json& record) {
  std::vector<Figure> figures;
  const Json files = recorded_files(record);
  for (const char* name : {kAblateFigure, kAblateTraining}) {
    const fs::path file = fs::path(kFigures) / (std::string(name) + ".vl.json");
    if (files.contains(file.string())) {
      figures.push_back({name, read_json_file(study.out / file)});
    }
  }
  return figures;
}

std::string describe_study_ablation(const Study& study) {
  if (!study.experiment.ablate) return {};
  const Experiment::Ablate& ablate = *study.experiment.ablate;
  const auto sets = static_cast<int64_t>(ablate.sets.size());
  const auto edits = static_cast<int64_t>(ablate.edits.size());
  // Removal is also measured where it is not one of the edits.
  const bool removal = std::none_of(ablate.edits.begin(), ablate.edits.end(),
                                    [](const EditName& edit) { return edit.text == kRemoval; });
  return fmt::format(
      "\nablate: {} of {} in each checkpoint, compared with {}, on {} more: up to {} edited passes "
      "per checkpoint, each at most as long as a pass up to the loss\n",
      format_number_of(edits, "edit"), format_number_of(sets, "set"),
      format_number_of(ablate.controls, "random set"),
      format_number_of(ablate.documents, "document"),
      sets * (edits + (removal ? 1 : 0)) * (1 + ablate.controls));
}

}  // namespace ropewalk
