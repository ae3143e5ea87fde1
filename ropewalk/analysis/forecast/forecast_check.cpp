#include "ropewalk/analysis/forecast/forecast_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/moments/collectors/loss_collector.h"

namespace ropewalk {
namespace {

constexpr size_t kFewestSettings = 3;

// Sums over independent documents: their losses under each setting, and their tokens.
struct GroupSums {
  std::vector<std::vector<double>> losses;  // [settings][groups]
  std::vector<double> tokens;               // [groups]

  double tokens_of_all() const { return std::accumulate(tokens.begin(), tokens.end(), 0.0); }
  double mean(size_t setting) const {
    return std::accumulate(losses[setting].begin(), losses[setting].end(), 0.0) / tokens_of_all();
  }
  // Standard error of the mean of these sums, which is a ratio of two sums.
  double error(const std::vector<double>& sums) const {
    const auto groups = static_cast<double>(tokens.size());
    if (groups < 2) return kUnknown;
    const double all = tokens_of_all();
    const double mean = std::accumulate(sums.begin(), sums.end(), 0.0) / all;
    double squares = 0;
    for (size_t i = 0; i < sums.size(); ++i) squares += std::pow(sums[i] - mean * tokens[i], 2);
    return std::sqrt(groups / (groups - 1) * squares) / all;
  }
};

GroupSums group_sums(const ForecastLosses& losses, const PositionRange& range) {
  const int64_t bins = losses.sums.front().size(1);
  int64_t first = bins, last = 0;
  for (int64_t bin = 0; bin < bins; ++bin) {
    if (bin_begin(bin) < range.begin || bin_begin(bin) >= range.end) continue;
    first = std::min(first, bin);
    last = bin + 1;
  }
  GroupSums made;
  std::map<int64_t, size_t> index;
  std::vector<size_t> group_of;
  for (size_t i = 0; i < losses.documents.groups.size(); ++i) {
    const auto [found, added] = index.try_emplace(losses.documents.groups[i], index.size());
    group_of.push_back(found->second);
    if (added) made.tokens.push_back(0);
    const int64_t end = std::min(losses.documents.tokens[i] - 1, range.end);
    made.tokens[found->second] += static_cast<double>(std::max<int64_t>(0, end - range.begin));
  }
  for (const at::Tensor& sums : losses.sums) {
    std::vector<double> own(made.tokens.size(), 0.0);
    if (first < last) {
      const at::Tensor all = sums.slice(1, first, last).sum(1).contiguous();
      const double* data = all.const_data_ptr<double>();
      for (size_t i = 0; i < group_of.size(); ++i) own[group_of[i]] += data[i];
    }
    made.losses.push_back(std::move(own));
  }
  return made;
}

SettingLoss loss_of(const GroupSums& sums, size_t setting) {
  const double tokens = sums.tokens_of_all();
  if (tokens <= 0) return {};
  return {sums.mean(setting), sums.error(sums.losses[setting]), static_cast<int64_t>(tokens)};
}

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

// The rank correlation in each resample of the groups, sorted.
std::vector<double> resampled(const std::vector<double>& numbers, const GroupSums& sums) {
  std::vector<double> found;
  const size_t groups = sums.tokens.size();
  for (const std::vector<int>& draw : block_draws(groups)) {
    double tokens = 0;
    for (size_t i = 0; i < groups; ++i) tokens += draw[i] * sums.tokens[i];
    std::vector<double> losses;
    for (const std::vector<double>& own : sums.losses) {
      double sum = 0;
      for (size_t i = 0; i < groups; ++i) sum += draw[i] * own[i];
      losses.push_back(sum / tokens);
    }
    const double rho = rank_correlation(numbers, losses);
    if (!std::isnan(rho)) found.push_back(rho);
  }
  std::sort(found.begin(), found.end());
  return found;
}

RankCheck check(const NamedRange& range, const char* ranked_by, const std::vector<double>& numbers,
                const GroupSums& sums) {
  RankCheck made;
  made.range = range;
  made.ranked_by = ranked_by;
  std::vector<double> losses;
  for (size_t i = 0; i < numbers.size(); ++i) losses.push_back(sums.mean(i));
  made.rho = rank_correlation(numbers, losses);
  const auto lowest = [](const std::vector<double>& values) {
    return static_cast<size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  };
  made.first = lowest(numbers);
  made.best = lowest(losses);
  made.first_loss = loss_of(sums, made.first);
  made.best_loss = loss_of(sums, made.best);
  made.excess = made.first_loss.loss - made.best_loss.loss;
  std::vector<double> differences = sums.losses[made.first];
  for (size_t i = 0; i < differences.size(); ++i) differences[i] -= sums.losses[made.best][i];
  made.excess_se = sums.error(differences);
  if (std::isnan(made.rho) || sums.tokens.size() < 2) return made;
  const std::vector<double> drawn = resampled(numbers, sums);
  const auto at = [&](double part) {
    return drawn[static_cast<size_t>(std::lround(part * static_cast<double>(drawn.size() - 1)))];
  };
  if (drawn.empty()) return made;
  made.rho_low = at(0.025);
  made.rho_high = at(0.975);
  return made;
}

}  // namespace

SettingLoss setting_loss(const ForecastLosses& losses, size_t setting, const PositionRange& range) {
  return loss_of(group_sums(losses, range), setting);
}

std::vector<PositionRange> position_bins(int64_t context) {
  std::vector<PositionRange> bins;
  for (int64_t bin = 0; bin < loss_bins(context); ++bin) {
    bins.push_back({bin_begin(bin), std::min(bin_begin(bin + 1), context - 1)});
  }
  return bins;
}

std::vector<NamedRange> compared_ranges(int64_t trained, int64_t context) {
  std::vector<NamedRange> ranges{{"all", {0, context - 1}}};
  int64_t known = 0,
          beyond = context - 1;  // the end of whole bins, and the first that begins later
  for (const PositionRange& bin : position_bins(context)) {
    if (bin.end <= trained) known = bin.end;
    if (bin.begin >= trained) beyond = std::min(beyond, bin.begin);
  }
  if (known > 0) ranges.push_back({"trained", {0, known}});
  if (beyond < context - 1) ranges.push_back({"beyond", {beyond, context - 1}});
  return ranges;
}

std::vector<RankCheck> check_ranks(const Forecast& forecast, const ForecastLosses& losses) {
  std::vector<double> score, disturbance, sum;
  for (const SettingForecast& setting : forecast.settings) {
    score.push_back(setting.score.value);
    disturbance.push_back(setting.disturbance.value);
    sum.push_back(setting.disturbance.value + setting.excursion.value);
  }
  std::vector<RankCheck> checks;
  for (const NamedRange& range : compared_ranges(forecast.trained.tokens, forecast.context)) {
    const GroupSums sums = group_sums(losses, range.range);
    if (sums.tokens_of_all() <= 0) continue;
    checks.push_back(check(range, "score", score, sums));
    checks.push_back(check(range, "disturbance", disturbance, sums));
    checks.push_back(check(range, "sum", sum, sums));
  }
  return checks;
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < kFewestSettings) return kUnknown;
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : kUnknown;
}

}  // namespace ropewalk
