#include "ropewalk/study/ablation/ablation_job.h"

#include <algorithm>
#include <memory>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/model/device.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/study/ablation/captured_documents.h"
#include "ropewalk/study/ablation/captured_model.h"
#include "ropewalk/study/capture/inspect.h"

namespace ropewalk {
namespace {

constexpr int64_t kComponents = 10;  // as many as the tables have

const EditName& removal() {
  static const EditName kEdit = parse_edit_name(kRemoval);
  return kEdit;
}

}  // namespace

Json ablation_identity(const CaptureMoments& capture, const OpenModel& model,
                       const WeightReader& weights, const DocumentSet& documents) {
  return {{"numerics", kNumerics},
          {"capture", {{"numerics", capture.info.numerics}, {"corpus", capture.info.corpus}}},
          {"weights", weights.digest()},
          {"config", capture.info.identity().at("config")},
          {"context", capture.info.context},
          {"dtype", dtype_name(model.dtype)},
          {"device", model.device.is_cuda() ? "cuda" : "cpu"},
          {"documents", documents_digest(make_records(documents.documents))}};
}

void require_other_documents(const std::vector<DocumentRecord>& others, const std::string& source,
                             const DocumentSet& documents, const std::string& corpus) {
  std::set<uint64_t> read;
  for (const DocumentRecord& document : others) {
    read.insert(document.prefix_digest);
    read.insert(document.digest);
  }
  read.erase(0);  // position 0 is unknown
  const auto both = std::count_if(
      documents.documents.begin(), documents.documents.end(), [&](const Document& document) {
        return read.contains(document.prefix_digest) || read.contains(document.digest);
      });
  if (both == 0) return;
  throw InputError(
      "{}: {} of {} were also read for {}; the loss must be measured on other documents", corpus,
      both, format_number_of(static_cast<int64_t>(documents.documents.size()), "document"), source);
}

AblationJob::AblationJob(AblationInput input)
    : input_(std::move(input)),
      facts_(capture_facts(input_.capture.info, input_.source)),
      edit_source_(input_.capture, facts_, input_.source),
      finished_(input_.finished,
                ablation_identity(input_.capture, input_.model, input_.weights, input_.documents),
                static_cast<int64_t>(input_.documents.documents.size()),
                loss_bins(input_.model.context)) {
  require_captured_weights(input_.weights, input_.capture.info, input_.source);
  for (const EditName& edit : input_.edits) {
    edit_source_.require(edit);
    if (edit.needs_others() && !measures_removal()) {
      throw UsageError(
          Field{"edit"},
          " '{}': needs the mean over other documents, but there is only one document; give more",
          edit.text);
    }
  }
  choose_sets();
  list_tasks();
  // Every edit is built, also those that were measured before, because what they name must exist.
  for (const Task& task : tasks_) {
    check_edit(input_.model.text.config, task.edit, input_.model.context);
  }
}

bool AblationJob::measures_removal() const { return input_.documents.documents.size() > 1; }

void AblationJob::choose_sets() {
  const CheckpointTable analysis =
      analyze_capture(input_.capture, kComponents, input_.source, kAnyMemory, input_.span);
  const std::vector<QueryHead> heads = heads_of(analysis);
  for (const SetName& name : input_.sets) {
    Ablation::Set set;
    try {
      set.chosen = choose_set(name, analysis);
    } catch (const UsageError& empty) {
      if (!input_.skip_empty || !name.chosen()) throw;
      log::warning("{}: {}", input_.capture.info.label, empty.what());
      continue;
    }
    set.controls =
        draw_controls(set.chosen, heads, facts_.nope_layers, facts_.group(), input_.controls);
    const auto drawn = static_cast<int64_t>(set.controls.sets.size());
    if (drawn < input_.controls) {
      log::warning("{}: {} of {} control sets: {}", name.text, drawn, input_.controls,
                   set.controls.why_none.empty() ? "there are no other such sets"
                   : set.controls.why_none == "controls_moved"
                       ? "over a quarter of its heads would have to be drawn from other layers"
                       : "too few heads are outside the set");
    }
    if (set.chosen.unstable()) {
      log::warning(
          "{}: is an unstable set: sets chosen from resampled documents overlap with it by {:.2f}, "
          "random sets by {:.2f}",
          name.text, set.chosen.overlap, set.chosen.chance);
    }
    sets_.push_back(std::move(set));
  }
}

size_t AblationJob::task_of(const EditName& edit, const HeadSet& heads) {
  const auto [found, added] =
      task_indexes_.try_emplace({edit.text, list_heads(heads)}, tasks_.size());
  if (added) {
    Edit made = edit_source_.make(edit, heads, input_.model.context);
    EditKey key{edit.text, heads, edit_digest(made)};
    tasks_.push_back({edit, std::move(made), std::move(key)});
  }
  return found->second;
}

void AblationJob::list_tasks() {
  for (size_t i = 0; i < sets_.size(); ++i) {
    const HeadSet& heads = sets_[i].chosen.heads;
    const std::vector<HeadSet>& controls = sets_[i].controls.sets;
    for (const EditName& edit : input_.edits) {
      Row row{i, edit, task_of(edit, heads), {}, {}, {}};
      for (const HeadSet& control : controls) row.controls.push_back(task_of(edit, control));
      if (measures_removal()) {
        row.removed = task_of(removal(), heads);
        for (const HeadSet& control : controls) {
          row.controls_removed.push_back(task_of(removal(), control));
        }
      }
      rows_.push_back(std::move(row));
    }
  }
}

std::vector<size_t> AblationJob::missing() const {
  std::vector<size_t> found;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (!finished_.find(tasks_[i].key)) found.push_back(i);
  }
  return found;
}

std::vector<Edit> AblationJob::edits_of(const std::vector<size_t>& tasks) const {
  std::vector<Edit> edits;
  for (const size_t task : tasks) edits.push_back(tasks_[task].edit);
  return edits;
}

EditSums AblationJob::measured(size_t task) const {
  auto found = finished_.find(tasks_[task].key);
  if (!found) {
    throw SystemError(
        "{}: lacks the edit '{}', which was just written; is another program changing the folder?",
        input_.finished.string(), tasks_[task].key.edit);
  }
  return *found;
}

void AblationJob::measure(const std::vector<size_t>& tasks) const {
  std::vector<Edit> edits = edits_of(tasks);
  // throws where an edit does not fit into memory, before anything is computed
  plan_edits(pass(), edits);
  const bool outputs = std::any_of(tasks.begin(), tasks.end(),
                                   [&](size_t task) { return tasks_[task].name.needs_others(); });
  const UneditedLoss unedited = measure_unedited(pass(), outputs);
  finished_.add(kUnedited, {unedited.loss, {}});
  for (size_t i = 0; i < edits.size(); ++i) {
    if (tasks_[tasks[i]].name.needs_others()) edits[i].what = OutputEdit{unedited.outputs};
  }
  measure_edits(pass(), edits, [&](size_t edit, const EditedLoss& loss) {
    finished_.add(tasks_[tasks[edit]].key, {loss.loss, loss.kl});
  });
}

Ablation AblationJob::run() {
  const std::vector<size_t> tasks = missing();
  if (!tasks.empty() || !finished_.find(kUnedited)) measure(tasks);
  Ablation made;
  made.model = input_.capture.info.model;
  made.label = input_.capture.info.label;
  made.random = input_.capture.info.random.has_value();
  made.context = input_.capture.info.context;
  made.records = make_records(input_.documents.documents);
  made.documents = loss_documents(input_.documents);
  made.unedited = *finished_.find(kUnedited);
  made.sets = sets_;
  for (const Row& row : rows_) {
    Ablation::EditedSet one{row.set, row.edit, {}, {}};
    one.sums.edited = measured(row.edited);
    if (row.removed) one.sums.removed = measured(*row.removed);
    for (const size_t task : row.controls) one.sums.controls.push_back(measured(task));
    for (const size_t task : row.controls_removed) {
      one.sums.controls_removed.push_back(measured(task));
    }
    made.cases.push_back(std::move(one));
  }
  add_effects(made);
  return made;
}

std::string AblationJob::describe() const {
  std::string text = fmt::format("{:<32}  {:>5}  {:>5}  {:>7}  {:>6}  {:>8}  {:>5}\n", "set",
                                 "heads", "among", "overlap", "chance", "controls", "moved");
  const auto or_dash = [](double value) {
    return std::isnan(value) ? std::string("-") : fmt::format("{:.2f}", value);
  };
  for (const Ablation::Set& set : sets_) {
    text +=
        fmt::format("{:<32}  {:>5}  {:>5}  {:>7}  {:>6}  {:>8}  {:>5}\n", set.chosen.name.text,
                    count_heads(set.chosen.heads), set.chosen.among, or_dash(set.chosen.overlap),
                    or_dash(set.chosen.chance), set.controls.sets.size(), set.controls.moved);
  }
  const std::vector<size_t> tasks = missing();
  const auto count = static_cast<int64_t>(input_.documents.documents.size());
  const EditPlan plan = plan_edits(pass(), edits_of(tasks));
  const double passes = tasks.empty() ? 0 : plan.passes + 1;  // and the unedited pass
  const double flops = passes * flops_per_document(input_.model) * static_cast<double>(count);
  constexpr double kEfficiency = 0.5;  // the same share as in the dry run of a study
  const double rate = product_rate(input_.model.dtype, input_.model.device) * kEfficiency;
  text += fmt::format(
      "\n{} of {}; {} of {} edits of heads are finished; the others cost {:.1f} unedited passes, "
      "about {} on this machine, in {}, within {} of memory ({} of hidden states per document)\n",
      format_number_of(count, "document"), format_number_of(input_.model.context, "token"),
      tasks_.size() - tasks.size(), tasks_.size(), passes, format_duration(flops / rate),
      format_number_of(static_cast<int64_t>(plan.rounds.size()), "round"),
      format_bytes(input_.model.memory), format_bytes(plan.hidden_bytes));
  return text;
}

}  // namespace ropewalk
