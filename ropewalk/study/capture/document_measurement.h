#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/moments/document_values.h"
#include "ropewalk/study/source/open_model.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

class LossCollector;
class MomentsCollector;
class ProbeCollector;
class Progress;
struct CaptureInfo;
struct Edit;

// A capture that is written while the next one is measured.
struct PendingWrite {
  int64_t bytes = 0;           // memory that it holds
  std::function<void()> wait;  // waits until the memory is free
};

// The settings with which documents are measured.
struct MeasurementSetting {
  const OpenModel& model;
  const WeightReader& weights;
  std::span<const Document> documents;  // the documents of all processes together
  std::string title;                    // title of the progress bar
  std::string label = {};       // the checkpoint's label, for errors; empty: errors name none
  Communicator processes = {};  // each process reads a part
  bool pieces = false;          // documents are pieces of texts
  PendingWrite pending = {};
};

// How edits are measured: in rounds with as many edits as fit into memory, where edits with similar
// first edited layers share a round. A round computes the unedited pass once, and for each edit
// only the layers from its first edited one on.
struct EditPlan {
  std::vector<std::vector<size_t>> rounds;  // indexes of edits, per round
  double passes = 0;                        // the total cost, in unedited passes
  int64_t hidden_bytes = 0;                 // hidden states of one document and all its edits
};

// Runs documents through a model, for every verb that needs it. It keeps to the memory budget,
// resumes where it was interrupted, measures edits in rounds, and joins what several processes
// measured in the first one. What is collected is decided by its users.
class DocumentMeasurement {
 public:
  explicit DocumentMeasurement(MeasurementSetting setting);

  // The documents that this process reads.
  std::span<const Document> documents() const { return mine_; }

  // Reserves memory for collectors. Where this leaves no room for a capture that is being written,
  // waits until it is written.
  void reserve(int64_t bytes);

  // Adds a collector; must be called before run(). All collectors must outlive this object.
  void collect(Observer& observer);
  void collect(MomentsCollector& moments);
  void collect(LossCollector& loss);
  void collect(ProbeCollector& probes);

  // Resumes from the moments and losses that were saved in `state`, where they have the same
  // `identity` and documents, and saves the state there now and then.
  void resume(const std::filesystem::path& state, std::function<Json()> identity);

  // Runs the documents that were not read yet; must be called once. Throws InputError where a
  // number is not finite.
  void run();
  // The values of each document: in the first process, of all documents. Fills in the weights and
  // seconds of `info`. Collective.
  std::vector<DocumentValues> join(CaptureInfo& info);

  // Throws UsageError where an edit is impossible (check_edit), or where a single edit does not fit
  // into memory. `collector_bytes`: bytes of the device that a round's collectors need
  // (Observer::workspace).
  EditPlan plan_rounds(std::span<const Edit> edits, int64_t collector_bytes) const;
  // Runs edits, instead of run(). For each round, `begin` gives the collectors, and `finished` is
  // called with the round's edits, whose results stay valid where a later round fails.
  void run_rounds(std::span<const Edit> edits, const EditPlan& plan,
                  const std::function<Observer&()>& begin,
                  const std::function<void(const std::vector<size_t>& round)>& finished);

 private:
  using Clock = std::chrono::steady_clock;

  void run_pass(std::span<const Document> documents, std::span<Observer* const> observers,
                std::span<const Edit> edits, Progress& progress,
                const std::function<void(int64_t)>& after_group = {});
  bool fits_with_pending(int64_t held) const;
  std::vector<DocumentValues> values_of(std::span<const Document> read) const;
  void save(int64_t documents) const;
  double seconds() const;
  // The number of stages of a whole pass; edits count theirs from the shared pass on.
  int64_t stages() const { return setting_.weights.extent().last_stage() + 1; }
  size_t edits_at_once(std::span<const Edit> edits, int64_t collector_bytes) const;
  int64_t longest() const;  // The length of the longest document, in tokens.
  static int64_t count_tokens(std::span<const Document> documents);

  MeasurementSetting setting_;
  std::vector<Document> part_;  // this process's documents, where there are several
  std::span<const Document> mine_;
  std::vector<Observer*> observers_;
  MomentsCollector* moments_ = nullptr;
  LossCollector* loss_ = nullptr;
  ProbeCollector* probes_ = nullptr;
  int64_t held_ = 0;           // bytes of what is collected
  int64_t pending_bytes_ = 0;  // bytes of a capture that is being written
  std::filesystem::path state_;
  std::function<Json()> identity_;
  int64_t before_ = 0;         // number of documents that were read before a resume
  double seconds_before_ = 0;  // seconds spent on these
  Clock::time_point start_;
  std::vector<DocumentValues> values_;  // values of this process's documents
};

}  // namespace ropewalk
