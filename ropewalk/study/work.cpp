#include "ropewalk/study/work.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/study/capture_state.h"
#include "ropewalk/study/locate.h"

namespace ropewalk {
namespace {

using Task = Work::Task;

Json without_weights(Json identity) {
  identity.erase("weights");
  return identity;
}

// A checkpoint of the plan, compared with captures. Weights are read only where everything else
// agrees, and once.
class Wanted {
 public:
  Wanted(const Study& study, const PlannedCheckpoint& planned, int64_t settled)
      : planned_(planned), chunked_(study.experiment.corpus.chunk) {
    const ModelOptions& options = planned.capture.model;
    const OpenModel model = options.hub ? open_without_weights(options) : open_model(options);
    documents_ = study.documents_for(model.context, settled);
    info_ = describe_capture(planned.capture, model, documents_);
    identity_ = without_weights(info_.identity());
  }

  const PlannedCheckpoint& planned() const { return planned_; }
  const CaptureInfo& info() const { return info_; }

  // Measured in the same way, on whatever documents.
  bool same_measure(const CaptureInfo& other) {
    return without_weights(other.identity()) == identity_ && same_weights(other);
  }
  bool same_measure(const Json& identity) {  // of a saved state
    CaptureInfo other;
    other.weights = identity.value("weights", "");
    return without_weights(identity) == identity_ && same_weights(other);
  }
  bool same_documents(const CaptureInfo& other) const { return other.corpus == info_.corpus; }
  // Whether another one read just the first of these documents.
  bool begins_with(const CaptureInfo& other) const {
    return other.documents < info_.documents && first_digest(other.documents) == other.corpus;
  }
  // Vectors are written in one go, and the blocks of a cut text depend on its length.
  bool can_be_extended() const { return !info_.vectors && !chunked_; }

  std::string difference(const CaptureInfo& other) {
    Json before = other.identity();
    Json now = info_.identity();
    const bool else_same = without_weights(before) == identity_;
    now["weights"] = !else_same || same_weights(other) ? before["weights"] : Json();
    std::string text = describe_difference(before, now);
    if (same_documents(other)) return text;
    if (!text.empty()) text += ", ";
    if (other.documents == info_.documents) return text + "other documents";
    text += fmt::format("documents: {} → {}", other.documents, info_.documents);
    const bool fewer = other.documents > info_.documents;
    return fewer ? text + ", which sums of them all cannot give" : text;
  }

 private:
  bool same_weights(const CaptureInfo& other) {
    const ModelOptions& options = planned_.capture.model;
    if (options.random) return other.weights == fmt::format("random:{}", *options.random);
    if (options.hub && !has_weights(shared_hub(), *options.hub)) {
      if (other.hub == options.hub->name()) return true;
      if (!stated_) stated_ = stated_weights(shared_hub(), *options.hub);
      return !stated_->empty() && other.stated_weights == *stated_;
    }
    if (!digest_) digest_ = open_model(options).weights().digest();
    return other.weights == *digest_;
  }

  std::string first_digest(int64_t count) const {
    const auto first = std::span(documents_.documents).first(static_cast<size_t>(count));
    return documents_digest(make_records(first));
  }

  const PlannedCheckpoint& planned_;
  bool chunked_;
  DocumentSet documents_;
  CaptureInfo info_;
  Json identity_;
  std::optional<std::string> digest_;
  std::optional<std::string> stated_;
};

// The first capture that is not in use and fits; that of the label's own place before others.
template <typename Fits>
StoredCapture* find_capture(CaptureStore& store, const std::string& label, const Fits& fits) {
  for (const bool own : {true, false}) {
    for (StoredCapture& capture : store.captures()) {
      const bool here = capture.folder == store.place(label);
      if (here == own && !capture.in_use && fits(capture.info)) return &capture;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<Work> decide_work(const Study& study, CaptureStore& store, int64_t settled) {
  std::vector<Wanted> wanted;
  wanted.reserve(study.plan.checkpoints.size());
  for (const PlannedCheckpoint& planned : study.plan.checkpoints)
    wanted.emplace_back(study, planned, settled);
  for (StoredCapture& capture : store.captures()) capture.in_use = false;
  std::vector<Work> works(wanted.size());
  const auto claim = [&](Task task, auto fits) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (works[i].stored != nullptr) continue;
      const std::string& label = wanted[i].planned().capture.label;
      StoredCapture* found = find_capture(
          store, label, [&](const CaptureInfo& info) { return fits(wanted[i], info); });
      if (found == nullptr) continue;
      found->in_use = true;
      works[i].task = task;
      works[i].stored = found;
    }
  };
  claim(Task::keep, [](Wanted& mine, const CaptureInfo& info) {
    return mine.same_documents(info) && mine.same_measure(info);
  });
  claim(Task::extend, [](Wanted& mine, const CaptureInfo& info) {
    return mine.can_be_extended() && mine.begins_with(info) && mine.same_measure(info);
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    Work& work = works[i];
    Wanted& mine = wanted[i];
    work.planned = &mine.planned();
    work.info = mine.info();
    if (work.task == Task::keep && work.stored != nullptr) continue;
    const std::string& label = work.planned->capture.label;
    if (const StoredCapture* there = store.at(label); there != nullptr) {
      work.why = mine.difference(there->info);
    } else if (store.damaged(label)) {
      work.why = "its capture is damaged";
    }
    if (!study.wanted(*work.planned)) {
      work.task = Task::leave_out;  // what is there of it stays in use
      continue;
    }
    if (work.stored == nullptr) work.task = Task::measure;
    const std::optional<SavedState> saved =
        find_state(*work.planned->capture.state,
                   [&](const Json& identity) { return mine.same_measure(identity); });
    if (!saved) continue;
    work.state = saved->file;
    work.resumed = saved->documents;
  }
  return works;
}

const PlannedCheckpoint* decisive_checkpoint(const Study& study,
                                             const std::set<std::string>& failed) {
  if (!study.experiment.target_se) return nullptr;
  const auto& checkpoints = study.plan.checkpoints;
  const auto found =
      std::find_if(checkpoints.begin(), checkpoints.end(), [&](const PlannedCheckpoint& planned) {
        return !planned.capture.model.random && !failed.contains(planned.capture.label);
      });
  return found == checkpoints.end() ? nullptr : &*found;
}

int64_t settled_documents(const Study& study, CaptureStore& store,
                          const PlannedCheckpoint& decisive) {
  Wanted all(study, decisive, -1);
  const StoredCapture* found =
      find_capture(store, decisive.capture.label, [&](const CaptureInfo& info) {
        if (!info.target_se || info.target_se->value != *study.experiment.target_se) return false;
        // Where the target was missed, more documents may reach it.
        const bool settled = info.target_se->reached || all.same_documents(info);
        return settled && (all.same_documents(info) || all.begins_with(info)) &&
               all.same_measure(info);
      });
  return found == nullptr ? -1 : found->info.documents;
}

}  // namespace ropewalk
