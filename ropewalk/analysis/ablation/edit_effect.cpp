#include "ropewalk/analysis/ablation/edit_effect.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/moments/collectors/loss_collector.h"

namespace ropewalk {
namespace {

constexpr double kReal = 0.05;
constexpr double kSmall = 2;  // standard errors

double total(const std::vector<double>& sums) {
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// A range of position bins, over all documents.
class BinRange {
 public:
  BinRange(const LossDocuments& documents, int64_t first, int64_t last)
      : documents_(documents), first_(first), last_(last) {
    for (const int64_t group : documents.groups)
      index_of_group_.try_emplace(group, index_of_group_.size());
    tokens_.assign(index_of_group_.size(), 0);
    for (size_t i = 0; i < documents.groups.size(); ++i) {
      // The last token of a document predicts nothing that we can compare with.
      const int64_t end = std::max<int64_t>(documents.tokens[i] - 1, 0);
      const int64_t predictions =
          std::max<int64_t>(0, std::min(end, bin_begin(last)) - bin_begin(first));
      tokens_[index_of_group_.at(documents.groups[i])] += static_cast<double>(predictions);
      count_ += predictions;
    }
  }

  // One sum per group of documents.
  std::vector<double> sums(const at::Tensor& values) const {
    const at::Tensor rows = values.slice(1, first_, last_).sum(1).contiguous();
    const double* data = rows.const_data_ptr<double>();
    std::vector<double> found(index_of_group_.size(), 0);
    for (size_t i = 0; i < documents_.groups.size(); ++i) {
      found[index_of_group_.at(documents_.groups[i])] += data[i];
    }
    return found;
  }
  const std::vector<double>& tokens() const { return tokens_; }
  double all_tokens() const { return total(tokens_); }
  int64_t token_count() const { return count_; }
  // The number of groups with tokens at these positions.
  size_t groups() const {
    return static_cast<size_t>(
        std::count_if(tokens_.begin(), tokens_.end(), [](double tokens) { return tokens > 0; }));
  }

  double mean(const std::vector<double>& sums) const { return total(sums) / all_tokens(); }
  // The standard error of a mean per token, which is a ratio of two sums, from its residuals. For
  // groups of equal size this is the standard deviation over the root of their number.
  double error(const std::vector<double>& sums) const {
    const auto g = static_cast<double>(groups());
    if (g < 2) return kUnknown;
    const double per_token = mean(sums);
    double squares = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      const double residual = sums[i] - per_token * tokens_[i];
      squares += residual * residual;
    }
    return std::sqrt(g / (g - 1) * squares) / all_tokens();
  }

 private:
  const LossDocuments& documents_;
  int64_t first_, last_;
  int64_t count_ = 0;
  std::map<int64_t, size_t> index_of_group_;  // from a group's number to its row
  std::vector<double> tokens_;
};

void add_controls(EditEffect& effect, const std::vector<double>& controls) {
  effect.controls = static_cast<int64_t>(controls.size());
  if (controls.empty()) return;
  const auto count = static_cast<double>(controls.size());
  const auto reached = std::count_if(controls.begin(), controls.end(),
                                     [&](double control) { return control >= effect.dloss; });
  effect.control = total(controls) / count;
  effect.control_sd = standard_deviation(controls);
  effect.p = (1 + static_cast<double>(reached)) / (1 + count);
  effect.below_controls = reached == effect.controls &&
                          effect.dloss < *std::min_element(controls.begin(), controls.end());
  if (effect.control_sd > 0) {
    effect.z_control =
        (effect.dloss - effect.control) / (effect.control_sd * std::sqrt(1 + 1 / count));
    effect.p_t = 1 - student_t_cdf(effect.z_control, count - 1);
  }
  if (effect.controls < kEnoughControls || std::isnan(effect.dloss_se)) return;
  const double least =
      effect.dloss - student_t_95(static_cast<double>(effect.groups) - 1) * effect.dloss_se;
  effect.real = effect.p <= kReal && least > 0;
}

// The loss change of the edit divided by the loss change of removing the heads, with a jackknife
// error over groups.
void add_ratio(EditEffect& effect, const BinRange& span, const std::vector<double>& changes,
               const std::vector<double>& removals) {
  effect.removal = span.mean(removals);
  effect.removal_se = span.error(removals);
  effect.small_removal = !(effect.removal >= kSmall * effect.removal_se);
  if (effect.small_removal) return;
  const double change = total(changes), removal = total(removals);
  effect.of_removal = change / removal;
  std::vector<double> without;
  for (size_t i = 0; i < changes.size(); ++i) {
    without.push_back((change - changes[i]) / (removal - removals[i]));
  }
  effect.of_removal_se = jackknife_se(effect.of_removal, without, span.tokens());
}

// Adds, for the control sets, the loss change of the edit divided by the loss change of removal:
// one ratio over all control sets together, and the smallest and largest ratio of a single one.
void add_ratios_of_controls(EditEffect& effect, const BinRange& span,
                            const std::vector<std::vector<double>>& changes,
                            const std::vector<std::vector<double>>& removals) {
  double change = 0, removal = 0;
  for (size_t i = 0; i < removals.size(); ++i) {
    const double own = total(removals[i]);
    change += total(changes[i]);
    removal += own;
    if (!(span.mean(removals[i]) >= kSmall * span.error(removals[i]))) continue;
    const double ratio = total(changes[i]) / own;
    effect.of_removal_low = std::fmin(effect.of_removal_low, ratio);
    effect.of_removal_high = std::fmax(effect.of_removal_high, ratio);
  }
  if (removal > 0) effect.of_removal_control = change / removal;
}

EditEffect change_of(const BinRange& span, const EditSums& unedited, const EditSums& edited) {
  EditEffect effect;
  effect.tokens = span.token_count();
  effect.groups = static_cast<int64_t>(span.groups());
  effect.loss = span.mean(span.sums(unedited.loss));
  const std::vector<double> changes = span.sums(edited.loss - unedited.loss);
  effect.dloss = span.mean(changes);
  effect.dloss_se = span.error(changes);
  const std::vector<double> kl = span.sums(edited.kl);
  effect.kl = span.mean(kl);
  effect.kl_se = span.error(kl);
  return effect;
}

EditEffect effect_of(const BinRange& span, const EditSums& unedited, const EditComparison& edited) {
  EditEffect effect = change_of(span, unedited, edited.edited);
  const auto changes = [&](const EditSums& sums) { return span.sums(sums.loss - unedited.loss); };
  std::vector<double> controls;
  std::vector<std::vector<double>> control_changes, control_removals;
  for (const EditSums& control : edited.controls) {
    control_changes.push_back(changes(control));
    controls.push_back(span.mean(control_changes.back()));
  }
  add_controls(effect, controls);
  if (!edited.removed.known()) return effect;
  add_ratio(effect, span, changes(edited.edited), changes(edited.removed));
  for (const EditSums& removed : edited.controls_removed) {
    control_removals.push_back(changes(removed));
  }
  add_ratios_of_controls(effect, span, control_changes, control_removals);
  return effect;
}

}  // namespace

std::vector<EditEffect> measure_effect(const LossDocuments& documents, const EditSums& unedited,
                                       const EditComparison& edited) {
  const int64_t bins = unedited.loss.size(1);
  std::vector<EditEffect> effects{effect_of({documents, 0, bins}, unedited, edited)};
  for (int64_t bin = 0; bin < bins; ++bin) {
    const BinRange span(documents, bin, bin + 1);
    if (span.token_count() == 0) continue;
    effects.push_back(effect_of(span, unedited, edited));
    effects.back().begin = bin_begin(bin);
    effects.back().end = bin_begin(bin + 1);
  }
  return effects;
}

EditEffect measure_change(const LossDocuments& documents, const EditSums& unedited,
                          const EditSums& edited) {
  return change_of({documents, 0, unedited.loss.size(1)}, unedited, edited);
}

}  // namespace ropewalk
