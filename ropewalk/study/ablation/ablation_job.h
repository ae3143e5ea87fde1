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

// The inputs of an ablation: a capture, its model, opened with its head, and documents that the
// capture did not read, cut to the capture's context.
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

// All edits of one checkpoint: every edit of every set and of its control sets, without
// repetitions, and the removal of the same heads, where there are other documents for the means.
class AblationJob {
 public:
  // Throws UsageError or InputError where something that is requested cannot be done, before
  // anything is computed. Weights are read only to compare them with the capture's.
  explicit AblationJob(AblationInput input);

  // Describes in words the sets, the edits and their cost.
  std::string describe() const;
  // Measures the edits that are not finished yet.
  Ablation run();

 private:
  struct Task {
    EditName name;
    Edit edit;  // means of outputs are filled in after the unedited pass
    EditKey key;
  };
  // The tasks from which one row of the table is computed.
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

// Everything besides the edits on which their losses depend: where any of it differs, so do the
// losses.
Json ablation_identity(const CaptureMoments& capture, const OpenModel& model,
                       const WeightReader& weights, const DocumentSet& documents);

// Throws InputError where some of the documents are also in `source`, with their number.
void require_other_documents(const std::vector<DocumentRecord>& read, const std::string& source,
                             const DocumentSet& documents, const std::string& corpus);

}  // namespace ropewalk
