#include "ropewalk/analysis/head_changes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ropewalk/analysis/carried_signs.h"
#include "ropewalk/analysis/head_group.h"
#include "ropewalk/analysis/resampling.h"

namespace ropewalk {
namespace {

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

// The mean of several seeds' numbers, as of one checkpoint.
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

// Adds what seeds differ by: the checkpoint is held against one more of them. Degrees of freedom by
// Satterthwaite (1946).
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

std::vector<double> block_sizes(const CheckpointAnalysis& checkpoint, size_t row, size_t number) {
  const size_t blocks =
      checkpoint.block_sizes.empty() ? 0 : static_cast<size_t>(checkpoint.n_blocks[row]);
  const auto begin = checkpoint.block_sizes.begin() + static_cast<std::ptrdiff_t>(number * blocks);
  return {begin, begin + static_cast<std::ptrdiff_t>(blocks)};
}

}  // namespace

Comparison::Comparison(std::vector<const CheckpointAnalysis*> from, const CheckpointAnalysis& to)
    : from_(std::move(from)),
      to_(&to),
      after_(heads_of(to)),
      pairing_(pairing(*from_.front(), to)) {
  for (const CheckpointAnalysis* checkpoint : from_) {
    before_.push_back(heads_of(*checkpoint));
    const Pairing own = pairing(*checkpoint, to);
    pairing_ = {pairing_.paired && own.paired, std::min(pairing_.df, own.df)};
  }
}

Comparison::Heads Comparison::heads_of(const CheckpointAnalysis& checkpoint) {
  Heads heads;
  for (const size_t row : checkpoint.head_rows()) {
    heads.try_emplace({checkpoint.layer[row], checkpoint.q_head[row]}, HeadRow{row, heads.size()});
  }
  return heads;
}

double Comparison::common_sign(const std::vector<HeadRow>& before, const HeadRow& after) const {
  double sign = 0;
  for (size_t i = 0; i < from_.size(); ++i) {
    if (from_[i]->axes.empty() || to_->axes.empty()) return 1;  // tables that do not say
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

std::vector<Comparison::HeadRow> Comparison::rows_before(const Heads::key_type& head) const {
  std::vector<HeadRow> rows;
  for (const Heads& before : before_) {
    const auto found = before.find(head);
    if (found == before.end()) return {};
    rows.push_back(found->second);
  }
  return rows;
}

double Comparison::axis_sign(int64_t layer, int64_t q_head) const {
  const auto after = after_.find({layer, q_head});
  const std::vector<HeadRow> rows = rows_before({layer, q_head});
  return after == after_.end() || rows.empty() ? 0 : common_sign(rows, after->second);
}

std::vector<HeadChange> Comparison::changes(const PlacedReading& reading, double min_change) const {
  const Statistic& statistic = *reading.statistic;
  const auto number = [&](const CheckpointAnalysis& checkpoint, const HeadRow& head) {
    Estimate found = head_estimate(checkpoint, reading.place, head.row, head.number);
    return reading.reading->absolute ? absolute(std::move(found)) : found;
  };
  const bool signed_axis = statistic.sign == Sign::run && !reading.reading->absolute;
  const bool contexts = std::any_of(from_.begin(), from_.end(), [&](const auto* from) {
    return ropewalk::other_context(statistic, *from, *to_);
  });
  std::vector<HeadChange> heads;
  std::vector<double> p_values, sizes;
  for (const auto& [head, after] : after_) {
    const std::vector<HeadRow> rows = rows_before(head);
    if (rows.empty()) continue;
    std::vector<Estimate> before;
    for (size_t i = 0; i < from_.size(); ++i) before.push_back(number(*from_[i], rows[i]));
    const double sign = signed_axis ? common_sign(rows, after) : 1;
    const Estimate from = mean_of(before);
    const Estimate to = times(number(*to_, after), sign == 0 ? 1 : sign);
    HeadChange one;
    one.row = after.row;
    one.change = subtract(from, to, block_sizes(*to_, after.row, after.number), pairing_);
    add_seeds(one.change, before);
    if (std::isnan(one.change.value)) continue;
    one.axis_changed = sign == 0;
    one.other_context = contexts;
    const bool tested = !one.axis_changed && !one.other_context && one.change.known();
    p_values.push_back(tested ? one.change.p_value() : std::nan(""));
    const double unit = unit_size(statistic.unit, to_->units.in_layer(head.first));
    const double larger = std::max(std::abs(from.value), std::abs(to.value));
    sizes.push_back(min_change * (unit > larger ? unit : larger));
    heads.push_back(one);
  }
  const std::vector<double> rates = false_discovery_rates(p_values);
  for (size_t i = 0; i < heads.size(); ++i) {
    heads[i].p = p_values[i];
    heads[i].q = rates[i];
    heads[i].changed = rates[i] <= kDiscoveryRate && std::abs(heads[i].change.value) >= sizes[i];
  }
  return heads;
}

bool other_context(const Statistic& statistic, const CheckpointAnalysis& from,
                   const CheckpointAnalysis& to) {
  const int64_t before = from.origin.context, after = to.origin.context;
  return statistic.unit != Unit::one && before > 0 && after > 0 && before != after;
}

std::vector<PlacedReading> comparable_readings() {
  std::vector<PlacedReading> readings;
  for (const PlacedReading& one : all_readings()) {
    const bool arbitrary = one.statistic->sign == Sign::rule && !one.reading->absolute;
    if (one.statistic->error && !arbitrary) readings.push_back(one);
  }
  return readings;
}

}  // namespace ropewalk
