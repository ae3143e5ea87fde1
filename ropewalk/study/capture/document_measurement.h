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
class Progress;
struct CaptureInfo;
struct Edit;

// A capture that is being written meanwhile.
struct PendingWrite {
  int64_t bytes = 0;           // of memory that it holds
  std::function<void()> wait;  // until it does not
};

// What documents are measured with.
struct MeasurementSetting {
  const OpenModel& model;
  const WeightReader& weights;
  std::span<const Document> documents;  // of all processes together
  std::string title;                    // of the progress
  std::string label = {};               // of the checkpoint, in errors; empty: they name none
  Communicator processes = {};          // that read a part each
  bool pieces = false;                  // documents are pieces of texts
  PendingWrite pending = {};
};

// How edits are measured: in rounds of as many as the memory holds, those whose first edited layers
// lie close together in one. A round computes the unedited pass once, and of each edit what comes
// after that layer.
struct EditPlan {
  std::vector<std::vector<size_t>> rounds;  // of indexes of edits
  double passes = 0;                        // what all of it costs, in unedited passes
  int64_t hidden_bytes = 0;                 // of hidden states of one document and its edits
};

// Runs documents through a model, for every verb that does so: within the memory, from where an
// interrupted one stopped, edits in rounds, and with what several processes measured joined in the
// first one. It is told what to collect.
class DocumentMeasurement {
 public:
  explicit DocumentMeasurement(MeasurementSetting setting);

  // Of these documents, those that this process reads.
  std::span<const Document> documents() const { return mine_; }

  // Leaves bytes of the memory to who collects. Where there is then no room for what is being
  // written beside, waits for that.
  void reserve(int64_t bytes);

  // What to collect, before anything is run. All of it must outlive this.
  void collect(Observer& observer);
  void collect(MomentsCollector& moments);
  void collect(LossCollector& loss);

  // Goes on from the moments and losses that were saved in `state`, where they are of the same
  // `identity` and documents, and saves there now and then.
  void resume(const std::filesystem::path& state, std::function<Json()> identity);

  // Runs what is not read yet, once. Throws InputError where a number is not finite.
  void run();
  // What was measured of each document, in the first process of all documents. Completes what
  // `info` says of weights and seconds. Collective.
  std::vector<DocumentValues> join(CaptureInfo& info);

  // Throws UsageError where an edit cannot be done (check_edit) or the memory holds none.
  // `collecting`: bytes that who watches a round holds of the device (Observer::workspace).
  EditPlan plan_rounds(std::span<const Edit> edits, int64_t collecting) const;
  // Runs edits, instead of run(). Of each round: `begin` gives who watches it, and `finished` is
  // called with its edits. What that was called with stays true where a later round fails.
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
  // Of a pass with its head, and of an edit beyond the pass that all share.
  int64_t stages() const { return setting_.weights.extent().last_stage() + 1; }
  size_t edits_at_once(std::span<const Edit> edits, int64_t collecting) const;
  int64_t longest() const;  // document, in tokens
  static int64_t count_tokens(std::span<const Document> documents);

  MeasurementSetting setting_;
  std::vector<Document> part_;  // of several processes: this one's documents
  std::span<const Document> mine_;
  std::vector<Observer*> observers_;
  MomentsCollector* moments_ = nullptr;
  LossCollector* loss_ = nullptr;
  int64_t held_ = 0;           // bytes of what is collected
  int64_t pending_bytes_ = 0;  // of what is written meanwhile
  std::filesystem::path state_;
  std::function<Json()> identity_;
  int64_t before_ = 0;         // documents that were read before
  double seconds_before_ = 0;  // of reading these
  Clock::time_point start_;
  std::vector<DocumentValues> values_;  // of this process's documents
};

}  // namespace ropewalk
