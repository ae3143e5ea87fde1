#include "ropewalk/study/run/results.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ropewalk/analysis/ablation/effect_reader.h"
#include "ropewalk/analysis/run/summary.h"
#include "ropewalk/analysis/table/edges_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/version.h"
#include "ropewalk/study/capture/loss.h"
#include "ropewalk/study/capture/stage.h"
#include "ropewalk/study/run/checkpoint_analysis.h"
#include "ropewalk/study/run/probe_captures.h"
#include "ropewalk/study/run/results_folder.h"
#include "ropewalk/study/run/study_ablation.h"
#include "ropewalk/study/show/figures.h"
#include "ropewalk/study/show/report.h"
#include "ropewalk/study/show/result_files.h"
#include "ropewalk/study/show/tables.h"
#include "ropewalk/study/source/edge_texts.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Whether a run did more than check what exists.
bool worked(const Json& seconds) {
  static const std::set<std::string> kLooking{"open", "documents", "tokens", "total"};
  return std::any_of(seconds.items().begin(), seconds.items().end(),
                     [](const auto& stage) { return !kLooking.contains(stage.key()); });
}

// Warns of checkpoints with the same weights under different labels.
void warn_of_same_weights(const MeasuredStudy& measured) {
  std::map<std::string, std::string> first;
  for (const MeasuredCheckpoint& checkpoint : measured.checkpoints) {
    if (checkpoint.info.random) continue;
    const std::string& label = checkpoint.planned->checkpoint;  // the label without the context
    const auto [found, added] = first.try_emplace(checkpoint.info.weights, label);
    if (!added && found->second != label) {
      log::warning("'{}' and '{}' have the same {}", found->second, label,
                   checkpoint.planned->vectors ? "vectors" : "weights");
    }
  }
}

Json table_inputs(const Study& study, const MeasuredStudy& measured) {
  Json captures = Json::array();
  for (const MeasuredCheckpoint& checkpoint : measured.checkpoints) {
    const CaptureInfo& info = checkpoint.info;
    captures.push_back({{"label", info.label},
                        {"phase", checkpoint.planned->phase},
                        {"order", checkpoint.planned->order},
                        {"step", checkpoint.planned->time.step.value_or(-1)},
                        {"tokens", checkpoint.planned->time.tokens.value_or(-1)},
                        {"identity", info.identity()},
                        {"corpus", info.corpus},
                        {"moments", info.moments},
                        {"probes", checkpoint.probes}});
  }
  Json inputs{{"program", version_details()},
              {"name", study.experiment.name},
              {"components", study.experiment.components},
              {"captures", captures}};
  inputs.update(keep_json(study.experiment.keep));
  return inputs;
}

// Tables and figures, passed from stage to stage; they are read or made only where a later stage
// needs them.
class StudyProducts {
 public:
  explicit StudyProducts(const Study& study) : study_(study) {}

  void set(StudyTables tables) { tables_ = std::move(tables); }
  const StudyTables& tables() {
    if (!tables_) tables_ = read_tables(study_.out / kTable, study_.out / kSummary);
    return *tables_;
  }
  const std::vector<Figure>& figures() {
    if (!figures_) figures_ = study_figures(tables(), {}, study_.experiment);
    return *figures_;
  }

 private:
  const Study& study_;
  std::optional<StudyTables> tables_;
  std::optional<std::vector<Figure>> figures_;
};

// What edges say, by the tokenizers of the study.
void add_texts(const Study& study, const MeasuredStudy& measured,
               std::vector<CheckpointTable>& checkpoints) {
  for (size_t text = 0; text < study.documents.size(); ++text) {
    std::vector<CheckpointTable*> same;
    for (size_t i = 0; i < checkpoints.size(); ++i) {
      if (measured.checkpoints[i].planned->text == text) same.push_back(&checkpoints[i]);
    }
    const DocumentSet& documents = study.documents[text];
    add_edge_texts(same, {documents.tokenizer_path}, documents.tokenizer_digest);
  }
}

Stage tables_stage(const Study& study, const MeasuredStudy& measured, StudyProducts& products,
                   std::set<std::string>& again) {
  const auto make = [&]() -> std::vector<fs::path> {
    std::vector<CheckpointTable> checkpoints;
    for (const MeasuredCheckpoint& checkpoint : measured.checkpoints) {
      throw_if_interrupted();
      checkpoints.push_back(analyze_checkpoint(study, checkpoint, *measured.analyses, again));
    }
    const Timeline::Span span(*study.timeline, "tables");
    add_texts(study, measured, checkpoints);
    products.set(write_tables(study.out, checkpoints));
    std::vector<fs::path> files{kTable, kHeads, kBands, kCurves, kChanges, kSummary};
    if (study.experiment.keep.loss) files.emplace_back(kLossTable);
    if (have_edges(products.tables().heads.checkpoints)) files.emplace_back(kEdgesTable);
    if (!products.tables().roles.empty()) files.emplace_back(kRolesTable);
    return files;
  };
  return {"tables", table_inputs(study, measured), make};
}

// Writes the synthetic documents, so that anyone can compute their numbers again.
Stage probes_stage(const Study& study) {
  const std::string lines = study_probes(study);
  return {"probes", {{"sha256", sha256_hex(lines)}}, [&study, lines]() -> std::vector<fs::path> {
            write_file_atomically(study.out / kProbesFile, lines);
            return {kProbesFile};
          }};
}

Stage figures_stage(const Study& study, const Json& tables, StudyProducts& products) {
  const Experiment& experiment = study.experiment;
  const Json inputs{{"program", version_details()},
                    {"tables", tables},
                    {"name", experiment.name},
                    {"portraits", experiment.portraits},
                    {"figures", experiment.figures.to_json()},
                    {"axis", time_axis_name(experiment.axis)},
                    {"formats", study.options.formats}};
  const auto make = [&study, &products] {
    const Timeline::Span span(*study.timeline, "figures");
    std::vector<fs::path> files;
    for (const fs::path& file : save_figures(products.tables(), products.figures(),
                                             study.out / kFigures, study.options.formats)) {
      files.push_back(kFigures / file.filename());
    }
    return files;
  };
  return {"figures", inputs, make};
}

Stage report_stage(const Study& study, const Json& manifest, StudyProducts& products) {
  return {"report",
          {{"page", report_template_digest()}, {"manifest", manifest}},
          [&study, &products, manifest]() -> std::vector<fs::path> {
            const Timeline::Span span(*study.timeline, "report");
            std::vector<Figure> figures = products.figures();
            for (Figure& figure : ablation_figures(study, manifest.value("ablate", Json()))) {
              figures.push_back(std::move(figure));
            }
            const bool edited = manifest.value("ablate", Json()).is_object();
            write_report(products.tables(), figures, manifest,
                         edited ? read_effects(study.out) : Json(), study.experiment.name,
                         study.out / kReport);
            return {kReport};
          }};
}

// Draws the figures. An error is returned, because the report must still be written.
std::exception_ptr try_figures(const Study& study, StudyProducts& products, const Json& former,
                               Json& manifest) {
  try {
    manifest["figures"] =
        run_stage(study.out, figures_stage(study, manifest["tables"]["files"], products), former);
    return nullptr;
  } catch (const SystemError&) {
    return std::current_exception();
  }
}

// Edits heads, where the experiment requests it. An error is returned, because the report must
// still be written.
std::exception_ptr try_ablation(const Study& study, const MeasuredStudy& measured,
                                const Json& former, Json& manifest) {
  if (!study.experiment.ablate) {
    remove_made(study.out, former);
    manifest.erase("ablate");
    return nullptr;
  }
  try {
    manifest["ablate"] = run_stage(study.out, ablation_stage(study, measured), former);
    return nullptr;
  } catch (const InputError&) {
    return std::current_exception();
  } catch (const SystemError&) {
    return std::current_exception();
  }
}

// Makes the results of everything that was measured.
bool write_all(const Study& study, const MeasuredStudy& measured, const Json& former,
               std::set<std::string>& again) {
  const auto record = [&](const char* stage) {
    return former.is_object() ? former.value(stage, Json()) : Json();
  };
  warn_of_same_weights(measured);
  StudyProducts products(study);
  const auto write = [&](Json& manifest) {
    const Json seconds = study.timeline->seconds();
    manifest["seconds"] = worked(seconds) ? seconds : record("seconds");
    write_manifest(study, manifest);
  };
  Json manifest = describe_study(study, measured.checkpoints);
  // The manifest keeps the files of former runs as ours, even if this run fails.
  for (const char* stage : {"tables", "figures", "report"}) manifest[stage] = record(stage);
  for (const char* stage : {"ablate", "probes"}) {
    if (record(stage).is_object()) manifest[stage] = record(stage);
  }
  try {
    manifest["tables"] =
        run_stage(study.out, tables_stage(study, measured, products, again), record("tables"));
  } catch (const DamagedCapture&) {
    return false;
  }
  // Pictures and a page of other tables must not stay next to these, even if this run fails.
  if (recorded_files(manifest["tables"]) != recorded_files(record("tables"))) {
    for (const char* stage : {"figures", "report"}) remove_made(study.out, record(stage));
  }
  if (study.experiment.probes) {
    manifest["probes"] = run_stage(study.out, probes_stage(study), record("probes"));
  } else {
    remove_made(study.out, record("probes"));
    manifest.erase("probes");
  }
  write(manifest);
  const std::exception_ptr undrawn = try_figures(study, products, record("figures"), manifest);
  write(manifest);
  const std::exception_ptr unedited = try_ablation(study, measured, record("ablate"), manifest);
  write(manifest);
  if (can_write_report()) {
    // The page contains the parts of the manifest that do not differ between runs, without its own
    // record.
    Json shown = manifest;
    for (const char* key : {"report", "seconds"}) shown.erase(key);
    if (undrawn) shown.erase("figures");
    manifest["report"] =
        run_stage(study.out, report_stage(study, shown, products), record("report"));
    write(manifest);
  } else {
    log::info("no report: this program was built without it");
  }
  if (undrawn) std::rethrow_exception(undrawn);
  if (unedited) std::rethrow_exception(unedited);
  return true;
}

}  // namespace

bool write_results(const Study& study, MeasuredStudy& measured, const Json& former,
                   std::set<std::string>& again) {
  try {
    return write_all(study, measured, former, again);
  } catch (const AnalysisFailure& failure) {
    if (!study.options.keep_going) throw;
    log::error("{}", failure.what());
    measured.failures.push_back({failure.label(), std::current_exception()});
    std::erase_if(measured.checkpoints, [&](const MeasuredCheckpoint& checkpoint) {
      return checkpoint.planned->capture.label == failure.label();
    });
  }
  return measured.checkpoints.empty() || write_results(study, measured, former, again);
}

}  // namespace ropewalk
