#include "ropewalk/analysis/run/head_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ropewalk/analysis/math/discovery_rates.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/run/carried_signs.h"
#include "ropewalk/analysis/run/head_group.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Estimate times(Estimate number, double sign) {
  number.value *= sign;
  for (double& replicate : number.replicates) replicate *= sign;
  return number;
}

Estimate absolute(Estimate number) {
  number.value = std::abs(number.value);
  for (double& replicate : number.replicates) replicate = std::abs(replicate);
  return number;
}

// A head's number, as the reading takes it. That of a step function has no replicates: they mostly
// agree, which is no certainty. Its error is on the statistic's scale.
Estimate number_of(const CheckpointTable& checkpoint, const IndexedView& view, size_t row,
                   size_t number) {
  Estimate found = head_estimate(checkpoint, view.index, row, number);
  if (view.statistic->step) found.replicates.clear();
  return view.view->absolute ? absolute(std::move(found)) : found;
}

// The same on the statistic's scale, of numbers per token over the context. `sizes`: of its blocks.
Estimate scaled(const Estimate& number, const Statistic& statistic, double unit,
                const std::vector<double>& sizes) {
  const auto of = [&](double value) { return statistic.scale.of(value / unit); };
  if (statistic.step) return {of(number.value), number.se, {}};
  Estimate found{of(number.value), kNone, {}};
  for (const double replicate : number.replicates) found.replicates.push_back(of(replicate));
  found.se = found.replicates.empty()
                 ? std::abs(of(number.value + number.se) - of(number.value - number.se)) / 2
                 : jackknife_se(found.value, found.replicates, sizes);
  return found;
}

// The mean over several seeds, treated as one checkpoint.
Estimate mean_of(const std::vector<Estimate>& numbers) {
  Estimate mean = numbers.front();
  const auto count = static_cast<double>(numbers.size());
  double squares = mean.se * mean.se;
  for (size_t i = 1; i < numbers.size(); ++i) {
    mean.value += numbers[i].value;
    squares += numbers[i].se * numbers[i].se;
    const size_t blocks = std::min(mean.replicates.size(), numbers[i].replicates.size());
    mean.replicates.resize(blocks);
    for (size_t b = 0; b < blocks; ++b) mean.replicates[b] += numbers[i].replicates[b];
  }
  mean.value /= count;
  mean.se = std::sqrt(squares) / count;
  for (double& replicate : mean.replicates) replicate /= count;
  return mean;
}

// Adds the variance between seeds, because the checkpoint is compared with what one more seed would
// give. Degrees of freedom by Satterthwaite (1946).
void add_seeds(Change& change, const std::vector<Estimate>& seeds) {
  if (seeds.size() < 2) return;
  std::vector<double> values;
  for (const Estimate& seed : seeds) values.push_back(seed.value);
  const auto count = static_cast<double>(seeds.size());
  const double documents = change.se * change.se;
  const double between = std::pow(standard_deviation(values), 2) * (1 + 1 / count);
  if (!(between > 0)) return;
  change.se = std::sqrt(documents + between);
  change.df = std::pow(documents + between, 2) /
              (documents * documents / std::max(change.df, 1.0) + between * between / (count - 1));
}

std::vector<double> block_sizes(const CheckpointTable& checkpoint, size_t row, size_t number) {
  const size_t blocks =
      checkpoint.block_sizes.empty() ? 0 : static_cast<size_t>(checkpoint.n_blocks[row]);
  const auto begin = checkpoint.block_sizes.begin() + static_cast<std::ptrdiff_t>(number * blocks);
  return {begin, begin + static_cast<std::ptrdiff_t>(blocks)};
}

}  // namespace

CheckpointComparison::CheckpointComparison(std::vector<const CheckpointTable*> from,
                                           const CheckpointTable& to, double min_change)
    : from_(std::move(from)),
      to_(&to),
      after_(heads_of(to)),
      pairing_(pairing(*from_.front(), to)),
      min_change_(min_change) {
  for (const CheckpointTable* checkpoint : from_) {
    before_.push_back(heads_of(*checkpoint));
    const Pairing own = pairing(*checkpoint, to);
    pairing_ = {pairing_.paired && own.paired, std::min(pairing_.df, own.df)};
  }
}

CheckpointComparison::Heads CheckpointComparison::heads_of(const CheckpointTable& checkpoint) {
  Heads heads;
  for (const size_t row : checkpoint.head_rows()) {
    heads.try_emplace({checkpoint.layer[row], checkpoint.q_head[row]}, HeadRow{row, heads.size()});
  }
  return heads;
}

double CheckpointComparison::common_sign(const std::vector<HeadRow>& before,
                                         const HeadRow& after) const {
  double sign = 0;
  for (size_t i = 0; i < from_.size(); ++i) {
    if (from_[i]->axes.empty() || to_->axes.empty()) return 1;  // the tables have no axes
    const HeadAxis &a = from_[i]->axes[before[i].number], &b = to_->axes[after.number];
    if (a.vector.size() != b.vector.size()) return 0;
    const double overlap =
        a.sign * b.sign *
        std::inner_product(a.vector.begin(), a.vector.end(), b.vector.begin(), 0.0);
    if (!(std::abs(overlap) >= kSameAxis)) return 0;
    const double own = overlap < 0 ? -1 : 1;
    if (i > 0 && own != sign) return 0;
    sign = own;
  }
  return sign;
}

std::vector<CheckpointComparison::HeadRow> CheckpointComparison::rows_before(
    const Heads::key_type& head) const {
  std::vector<HeadRow> rows;
  for (const Heads& before : before_) {
    const auto found = before.find(head);
    if (found == before.end()) return {};
    rows.push_back(found->second);
  }
  return rows;
}

double CheckpointComparison::axis_sign(int64_t layer, int64_t q_head) const {
  const auto after = after_.find({layer, q_head});
  const std::vector<HeadRow> rows = rows_before({layer, q_head});
  return after == after_.end() || rows.empty() ? 0 : common_sign(rows, after->second);
}

Change CheckpointComparison::change_of(const std::vector<Estimate>& before, const Estimate& after,
                                       const HeadRow& row) const {
  Change change =
      subtract(mean_of(before), after, block_sizes(*to_, row.row, row.number), pairing_);
  add_seeds(change, before);
  return change;
}

const std::vector<HeadChange>& CheckpointComparison::changes(const IndexedView& view) const {
  const auto known = changes_.find(view.view);
  if (known != changes_.end()) return known->second;
  return changes_.emplace(view.view, find_changes(view)).first->second;
}

std::vector<HeadChange> CheckpointComparison::find_changes(const IndexedView& view) const {
  const Statistic& statistic = *view.statistic;
  const bool signed_axis = statistic.sign == Sign::run && !view.view->absolute;
  const bool contexts = std::any_of(from_.begin(), from_.end(), [&](const auto* from) {
    return ropewalk::other_context(statistic, *from, *to_);
  });
  std::vector<HeadChange> heads;
  std::vector<double> p_values, before_scaled, after_scaled;
  for (const auto& [head, after] : after_) {
    const std::vector<HeadRow> rows = rows_before(head);
    if (rows.empty()) continue;
    const double sign = signed_axis ? common_sign(rows, after) : 1;
    const double unit = unit_size(statistic.unit, to_->units.in_layer(head.first));
    std::vector<Estimate> before, scaled_before;
    for (size_t i = 0; i < from_.size(); ++i) {
      before.push_back(number_of(*from_[i], view, rows[i].row, rows[i].number));
      scaled_before.push_back(scaled(before.back(), statistic, unit,
                                     block_sizes(*from_[i], rows[i].row, rows[i].number)));
      if (statistic.step) before.back().se = kNone;
    }
    Estimate to = times(number_of(*to_, view, after.row, after.number), sign == 0 ? 1 : sign);
    const Estimate scaled_to =
        scaled(to, statistic, unit, block_sizes(*to_, after.row, after.number));
    if (statistic.step) to.se = kNone;
    HeadChange one;
    one.row = after.row;
    one.before = mean_of(before).value;
    one.after = to.value;
    one.change = change_of(before, to, after);
    if (std::isnan(one.change.value)) continue;
    const Change on_scale = change_of(scaled_before, scaled_to, after);
    one.effect = on_scale.value;
    one.effect_se = on_scale.se;
    one.axis_changed = sign == 0;
    one.other_context = contexts;
    one.step_function = statistic.step;
    const bool tested = *one.flag() == '\0' && one.change.known();
    p_values.push_back(tested ? one.change.p_value() : kNone);
    before_scaled.push_back(mean_of(scaled_before).value);
    after_scaled.push_back(scaled_to.value);
    heads.push_back(one);
  }
  const double spread = (robust_spread(before_scaled) + robust_spread(after_scaled)) / 2;
  const double least = std::max(min_change_ * spread, statistic.scale.floor());
  const std::vector<double> rates = false_discovery_rates(p_values);
  for (size_t i = 0; i < heads.size(); ++i) {
    heads[i].p = p_values[i];
    heads[i].q = rates[i];
    heads[i].changed = rates[i] <= kDiscoveryRate && std::abs(heads[i].effect) >= least;
    heads[i].effect /= spread > 0 ? spread : kNone;
    heads[i].effect_se /= spread > 0 ? spread : kNone;
  }
  return heads;
}

const char* HeadChange::flag() const {
  return axis_changed    ? kAxisChanged
         : other_context ? kOtherContext
         : step_function ? kStepFunction
                         : "";
}

bool other_context(const Statistic& statistic, const CheckpointTable& from,
                   const CheckpointTable& to) {
  const int64_t before = from.origin.context, after = to.origin.context;
  const bool moves = statistic.unit != Unit::one || statistic.of_rows;
  return moves && before > 0 && after > 0 && before != after;
}

std::vector<IndexedView> comparable_views() {
  std::vector<IndexedView> views;
  for (const IndexedView& one : all_views()) {
    const bool arbitrary = one.statistic->sign == Sign::rule && !one.view->absolute;
    if (one.statistic->error && !arbitrary) views.push_back(one);
  }
  return views;
}

}  // namespace ropewalk
