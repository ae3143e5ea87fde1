#include "ropewalk/analysis/ablation/effect_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/discovery_rates.h"
#include "ropewalk/analysis/table/qk_table.h"

namespace ropewalk {
namespace {

constexpr int64_t kFewDocuments = 8;  // the same limit as for the blocks of a capture

// A numeric column of ablate.csv and ablate_positions.csv.
struct EffectColumn {
  const char* name;
  double EditEffect::*value;
};
constexpr EffectColumn kBefore[] = {{"loss", &EditEffect::loss},
                                    {"dloss", &EditEffect::dloss},
                                    {"dloss_se", &EditEffect::dloss_se},
                                    {"kl", &EditEffect::kl},
                                    {"kl_se", &EditEffect::kl_se},
                                    {"control", &EditEffect::control},
                                    {"control_sd", &EditEffect::control_sd}};
constexpr EffectColumn kAfter[] = {{"p", &EditEffect::p},
                                   {"z_control", &EditEffect::z_control},
                                   {"p_t", &EditEffect::p_t},
                                   {"q", &EditEffect::q}};
constexpr EffectColumn kRemovalColumns[] = {
    {"removal", &EditEffect::removal},
    {"removal_se", &EditEffect::removal_se},
    {"of_removal", &EditEffect::of_removal},
    {"of_removal_se", &EditEffect::of_removal_se},
    {"of_removal_control", &EditEffect::of_removal_control},
    {"of_removal_control_low", &EditEffect::of_removal_low},
    {"of_removal_control_high", &EditEffect::of_removal_high}};

template <size_t N>
std::string names(const EffectColumn (&columns)[N]) {
  std::string text;
  for (const EffectColumn& column : columns) text += fmt::format(",{}", column.name);
  return text;
}

template <size_t N>
std::string values(const EffectColumn (&columns)[N], const EditEffect& effect) {
  std::string text;
  for (const EffectColumn& column : columns) text += "," + table_number(effect.*column.value);
  return text;
}

std::string effect_names() {
  return names(kBefore) + ",controls,control_moved" + names(kAfter) + ",real" +
         names(kRemovalColumns);
}

std::string effect_values(const Ablation& ablation, const Ablation::EditedSet& one,
                          const EditEffect& effect) {
  const ControlSets& controls = ablation.sets[one.set].controls;
  const std::string real = effect.real ? (*effect.real ? "1" : "0") : "";
  return values(kBefore, effect) + fmt::format(",{},{}", effect.controls, controls.moved) +
         values(kAfter, effect) + "," + real + values(kRemovalColumns, effect);
}

// The columns with which every table begins; they say to what the row belongs.
constexpr const char* kWhose = "model,checkpoint,phase,order,set,edit";

std::string whose(const Ablation& ablation, const Ablation::EditedSet& one) {
  return fmt::format("{},{},{},{},{},{}", csv_name(ablation.model), csv_name(ablation.label),
                     csv_name(ablation.phase), ablation.order,
                     csv_name(ablation.sets[one.set].chosen.name.text), csv_name(one.edit.text));
}

}  // namespace

void add_effects(Ablation& ablation) {
  for (Ablation::EditedSet& one : ablation.cases) {
    one.effects = measure_effect(ablation.documents, ablation.unedited, one.sums);
  }
  for (const Ablation::EditedSet& first : ablation.cases) {
    if (first.set != 0) continue;
    std::vector<Ablation::EditedSet*> same;
    for (Ablation::EditedSet& one : ablation.cases) {
      if (one.edit.text == first.edit.text) same.push_back(&one);
    }
    for (size_t i = 0; i < first.effects.size(); ++i) {
      std::vector<double> p_values;
      for (const Ablation::EditedSet* one : same) p_values.push_back(one->effects[i].p_t);
      const std::vector<double> rates = false_discovery_rates(p_values);
      for (size_t j = 0; j < same.size(); ++j) same[j]->effects[i].q = rates[j];
    }
  }
}

std::string effect_flags(const Ablation& ablation, const Ablation::EditedSet& one,
                         const EditEffect& effect) {
  const Ablation::Set& set = ablation.sets[one.set];
  std::string flags;
  if (ablation.random) add_flag(flags, kRandomWeights);
  if (effect.groups < 2) add_flag(flags, "no_se");
  if (effect.groups < kFewDocuments) add_flag(flags, "few_documents");
  if (!set.controls.why_none.empty()) add_flag(flags, set.controls.why_none);
  if (effect.controls > 0 && effect.controls < kEnoughControls) add_flag(flags, "few_controls");
  if (effect.below_controls) add_flag(flags, "below_controls");
  if (effect.small_removal) add_flag(flags, "small_removal");
  if (set.chosen.unstable()) add_flag(flags, "unstable_set");
  return flags;
}

std::string format_ablate_table(const std::vector<Ablation>& checkpoints) {
  std::string text = kWhose + std::string(",heads") + effect_names() +
                     ",overlap,overlap_chance,documents,tokens,flag\n";
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      const ChosenSet& set = ablation.sets[one.set].chosen;
      const EditEffect& effect = one.effects.front();
      text += fmt::format("{},{}{},{},{},{},{},{}\n", whose(ablation, one), count_heads(set.heads),
                          effect_values(ablation, one, effect), table_number(set.overlap),
                          table_number(set.chance), ablation.documents.count(), effect.tokens,
                          effect_flags(ablation, one, effect));
    }
  }
  return text;
}

std::string format_ablate_positions(const std::vector<Ablation>& checkpoints) {
  std::string text =
      kWhose + std::string(",position,position_end") + effect_names() + ",tokens,flag\n";
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      for (size_t i = 1; i < one.effects.size(); ++i) {
        const EditEffect& effect = one.effects[i];
        text += fmt::format("{},{},{}{},{},{}\n", whose(ablation, one), effect.begin, effect.end,
                            effect_values(ablation, one, effect), effect.tokens,
                            effect_flags(ablation, one, effect));
      }
    }
  }
  return text;
}

std::string format_ablate_documents(const std::vector<Ablation>& checkpoints) {
  std::string text = kWhose + std::string(",document,group,digest,tokens,loss,dloss,kl\n");
  for (const Ablation& ablation : checkpoints) {
    const auto predictions = [&](size_t document) {
      return std::max<int64_t>(ablation.documents.tokens[document] - 1, 0);
    };
    const auto per_token = [&](const at::Tensor& sums, size_t document) {
      const int64_t tokens = predictions(document);
      const double sum = sums[static_cast<int64_t>(document)].sum().item<double>();
      return tokens > 0 ? sum / static_cast<double>(tokens) : kUnknown;
    };
    for (const Ablation::EditedSet& one : ablation.cases) {
      const EditSums& edited = one.sums.edited;
      for (size_t i = 0; i < ablation.records.size(); ++i) {
        const double before = per_token(ablation.unedited.loss, i);
        text += fmt::format("{},{},{},{:016x},{},{},{},{}\n", whose(ablation, one),
                            ablation.records[i].index, ablation.documents.groups[i],
                            ablation.records[i].digest, predictions(i), table_number(before),
                            table_number(per_token(edited.loss - ablation.unedited.loss, i)),
                            table_number(per_token(edited.kl, i)));
      }
    }
  }
  return text;
}

std::string format_ablate_controls(const std::vector<Ablation>& checkpoints) {
  std::string text = kWhose + std::string(",draw,heads,dloss,dloss_se,kl,kl_se,removal,members\n");
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      const auto row = [&](const std::string& control, const HeadSet& heads, const EditSums& edited,
                           const EditSums* removed) {
        const EditEffect effect = measure_change(ablation.documents, ablation.unedited, edited);
        const double removal =
            removed == nullptr || !removed->known()
                ? kUnknown
                : measure_change(ablation.documents, ablation.unedited, *removed).dloss;
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{}\n", whose(ablation, one), control, count_heads(heads),
            table_number(effect.dloss), table_number(effect.dloss_se), table_number(effect.kl),
            table_number(effect.kl_se), table_number(removal), csv_name(list_heads(heads)));
      };
      const Ablation::Set& set = ablation.sets[one.set];
      row("", set.chosen.heads, one.sums.edited, &one.sums.removed);
      for (size_t i = 0; i < set.controls.sets.size(); ++i) {
        row(std::to_string(i + 1), set.controls.sets[i], one.sums.controls[i],
            one.sums.controls_removed.empty() ? nullptr : &one.sums.controls_removed[i]);
      }
    }
  }
  return text;
}

}  // namespace ropewalk
