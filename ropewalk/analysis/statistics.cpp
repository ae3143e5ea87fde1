#include "ropewalk/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/resampling.h"
#include "ropewalk/analysis/taxonomy.h"

namespace ropewalk {
namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_absolute(const std::vector<double>& values) {
  std::vector<double> absolute;
  for (const double value : values) absolute.push_back(std::abs(value));
  return mean(absolute);
}

}  // namespace

HeadGroup make_group(const CheckpointAnalysis& checkpoint,
                     const std::function<bool(const HeadAnalysis&)>& member) {
  HeadGroup group;
  size_t blocks = 0;
  for (const HeadAnalysis& head : checkpoint.heads) {
    if (!member(head)) continue;
    const HeadComponents& c = head.components;
    if (std::isnan(c.r_q[0].value) || std::isnan(c.r_k[0].value)) {
      ++group.undefined;
      continue;
    }
    group.heads.push_back(&head);
    blocks = c.block_sizes.size();
  }
  group.without.resize(blocks);
  group.block_sizes.resize(blocks);
  for (const HeadAnalysis* head : group.heads) {
    const HeadComponents& c = head->components;
    group.all.r_q.push_back(c.r_q[0].value);
    group.all.r_k.push_back(c.r_k[0].value);
    group.all.explained_variance.push_back(c.explained_variance[0].value);
    for (size_t b = 0; b < blocks; ++b) {
      group.without[b].r_q.push_back(c.r_q[0].replicates[b]);
      group.without[b].r_k.push_back(c.r_k[0].replicates[b]);
      group.without[b].explained_variance.push_back(c.explained_variance[0].replicates[b]);
      group.block_sizes[b] += c.block_sizes[b];
    }
  }
  return group;
}

const std::vector<std::pair<std::string, Statistic>>& smooth_statistics() {
  static const std::vector<std::pair<std::string, Statistic>> kStatistics{
      {"mean_r_q", [](const HeadNumbers& n) { return mean(n.r_q); }},
      {"mean_r_k", [](const HeadNumbers& n) { return mean(n.r_k); }},
      {"mean_abs_r_k", [](const HeadNumbers& n) { return mean_absolute(n.r_k); }},
      {"sd_r_q", [](const HeadNumbers& n) { return standard_deviation(n.r_q); }},
      {"sd_r_k", [](const HeadNumbers& n) { return standard_deviation(n.r_k); }},
      {"pc0_explained_variance", [](const HeadNumbers& n) { return mean(n.explained_variance); }}};
  return kStatistics;
}

Estimate estimate(const HeadGroup& group, const Statistic& statistic) {
  Estimate result;
  result.value = statistic(group.all);
  for (const HeadNumbers& numbers : group.without) result.replicates.push_back(statistic(numbers));
  result.se = jackknife_se(result.value, result.replicates, group.block_sizes);
  return result;
}

ClassFractions class_fractions(const HeadGroup& group) {
  ClassFractions fractions;
  fractions.values.assign(kHeadClasses.size(), std::numeric_limits<double>::quiet_NaN());
  if (group.heads.empty()) return fractions;
  const double share = 1 / static_cast<double>(group.heads.size());
  const auto count = [](std::vector<double>& into, double r_q, double r_k, double each) {
    into[static_cast<size_t>(classify(r_q, r_k))] += each;
  };
  fractions.values.assign(kHeadClasses.size(), 0);
  for (size_t h = 0; h < group.heads.size(); ++h)
    count(fractions.values, group.all.r_q[h], group.all.r_k[h], share);
  if (group.without.size() < 2) return fractions;
  // A head that is undefined without some block has no class under a draw: it is left out.
  const auto complete = [](const Estimate& number) {
    return std::none_of(number.replicates.begin(), number.replicates.end(),
                        [](double replicate) { return std::isnan(replicate); });
  };
  std::vector<const HeadComponents*> heads;
  for (const HeadAnalysis* head : group.heads) {
    const HeadComponents& c = head->components;
    if (complete(c.r_q[0]) && complete(c.r_k[0])) heads.push_back(&c);
  }
  if (heads.empty()) return fractions;
  const double drawn_share = 1 / static_cast<double>(heads.size());
  fractions.drawn.assign(kHeadClasses.size(), {});
  for (const std::vector<int>& draw : block_draws(group.without.size())) {
    std::vector<double> drawn(kHeadClasses.size(), 0);
    for (const HeadComponents* c : heads) {
      count(drawn, resampled(c->r_q[0].value, c->r_q[0].replicates, draw),
            resampled(c->r_k[0].value, c->r_k[0].replicates, draw), drawn_share);
    }
    for (size_t i = 0; i < drawn.size(); ++i) fractions.drawn[i].push_back(drawn[i]);
  }
  return fractions;
}

}  // namespace ropewalk
