#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/ablation/edit_source.h"
#include "ropewalk/analysis/ablation/effect_table.h"
#include "ropewalk/study/ablation/edited_loss.h"
#include "ropewalk/study/ablation/finished_edits.h"

namespace ropewalk {

inline constexpr int64_t kDefaultControls = 20;

// What edits are measured of: a capture, the model that it was made of, opened with its head, and
// documents that it did not read, all of the capture's context.
struct AblationInput {
  const CaptureMoments& capture;
  std::string source;  // the capture's name in errors
  const OpenModel& model;
  const WeightReader& weights;
  const DocumentSet& documents;
  std::vector<SetName> sets;
  std::vector<EditName> edits;
  int64_t controls = kDefaultControls;
  std::filesystem::path finished;  // folder of what is measured, kept for who goes on
  bool skip_empty = false;         // leave out sets that numbers choose no head for
  int64_t span = 0;                // of the study's preferences of distance (analyze_capture.h)
};

// All edits of one checkpoint: every edit of every set and of its control sets, each once, and the
// removal of the same heads, where there are other documents to take means of.
class AblationJob {
 public:
  // Throws UsageError or InputError where anything asked for cannot be done, before anything is
  // computed. Only weights are read, to compare them with the capture's.
  explicit AblationJob(AblationInput input);

  // In words: the sets, what is measured and what it costs.
  std::string describe() const;
  // Measures what is not there yet.
  Ablation run();

 private:
  struct Task {
    EditName name;
    Edit edit;  // means of outputs come with the unedited pass
    EditKey key;
  };
  // The tasks that a row of the table is made of.
  struct Row {
    size_t set = 0;
    EditName edit;
    size_t edited = 0;
    std::vector<size_t> controls;
    std::optional<size_t> removed;
    std::vector<size_t> controls_removed;
  };

  void choose_sets();
  void list_tasks();
  size_t task_of(const EditName& edit, const HeadSet& heads);
  std::vector<size_t> missing() const;
  std::vector<Edit> edits_of(const std::vector<size_t>& tasks) const;
  void measure(const std::vector<size_t>& tasks) const;
  LossPass pass() const { return {input_.model, input_.weights, input_.documents.documents}; }
  bool measures_removal() const;
  EditSums measured(size_t task) const;

  AblationInput input_;
  CaptureFacts facts_;
  EditSource edit_source_;
  FinishedEdits finished_;
  std::vector<Ablation::Set> sets_;
  std::vector<Task> tasks_;
  std::map<std::pair<std::string, std::string>, size_t> task_indexes_;
  std::vector<Row> rows_;
};

// What losses of edits rest on beside the edits: other numbers where any of it differs.
Json ablation_identity(const CaptureMoments& capture, const OpenModel& model,
                       const WeightReader& weights, const DocumentSet& documents);

// Throws InputError naming how many of the documents are among those that `source` was made of.
void require_other_documents(const std::vector<DocumentRecord>& read, const std::string& source,
                             const DocumentSet& documents, const std::string& corpus);

}  // namespace ropewalk
