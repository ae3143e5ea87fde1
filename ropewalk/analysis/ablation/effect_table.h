#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/control_sets.h"
#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/analysis/ablation/edit_name.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

inline constexpr const char* kAblateTable = "ablate.csv";
inline constexpr const char* kAblatePositions = "ablate_positions.csv";
inline constexpr const char* kAblateDocuments = "ablate_documents.csv";
inline constexpr const char* kAblateControls = "ablate_controls.csv";

// The effects of edits on sets of heads in one checkpoint.
struct Ablation {
  struct Set {
    ChosenSet chosen;
    ControlSets controls;
  };
  struct EditedSet {
    size_t set = 0;
    EditName edit;
    EditComparison sums;
    std::vector<EditEffect> effects;  // over all positions first; add_effects() fills them
  };

  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  bool random = false;  // fresh weights
  // Where it stands along a run; below 0, and of the context 0: not known.
  int64_t context = 0;
  int64_t step = -1;
  int64_t trained_tokens = -1;
  bool independent_model = false;  // one of several models: no step of a run
  std::vector<DocumentRecord> records;
  LossDocuments documents;
  EditSums unedited;
  std::vector<Set> sets;
  std::vector<EditedSet> cases;  // sets in order, and within each set its edits
};

// Computes the effects of every edited set, with false discovery rates over all sets with the same
// edit.
void add_effects(Ablation& ablation);

// Names joined by ';': warnings that belong to a row.
std::string effect_flags(const Ablation& ablation, const Ablation::EditedSet& one,
                         const EditEffect& effect);

// The texts of the tables (docs/formats.md): one row per set and edit; one row per position bin of
// these; one row per document of these; and one row per control set.
std::string format_ablate_table(const std::vector<Ablation>& checkpoints);
std::string format_ablate_positions(const std::vector<Ablation>& checkpoints);
std::string format_ablate_documents(const std::vector<Ablation>& checkpoints);
std::string format_ablate_controls(const std::vector<Ablation>& checkpoints);

}  // namespace ropewalk
