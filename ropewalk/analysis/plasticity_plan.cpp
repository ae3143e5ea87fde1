#include <algorithm>

#include "ropewalk/analysis/plasticity.h"
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/orders.h"
#include "ropewalk/moments/accumulators/plasticity.h"
#include "ropewalk/moments/kept_fields.h"
#include "ropewalk/moments/plasticity_sample.h"

namespace ropewalk {
namespace {

// Puts the queries of a bucket into columns.
void place_queries(PlasticityPlan::Bucket& bucket, const PlasticityPlan& plan,
                   const std::vector<bool>& has_query) {
  const auto groups = static_cast<size_t>(plan.groups());
  bucket.queries.assign(groups, 0);
  bucket.column.assign(static_cast<size_t>(plan.documents), -1);
  for (size_t i = 0; i < has_query.size(); ++i) {
    if (!has_query[i]) continue;
    const auto group = static_cast<size_t>(plan.group[i]);
    const int64_t place = bucket.queries[group]++;
    const int64_t step = place / plan.lanes_of_group;
    bucket.column[i] =
        step * plan.lanes + plan.group[i] * plan.lanes_of_group + place % plan.lanes_of_group;
    bucket.steps = std::max(bucket.steps, step + 1);
  }
  std::vector<int64_t> rows(static_cast<size_t>(bucket.steps * plan.lanes), 0);
  std::vector<float> there(rows.size(), 0);
  for (size_t i = 0; i < bucket.column.size(); ++i) {
    if (bucket.column[i] < 0) continue;
    const auto column = static_cast<size_t>(bucket.column[i]);
    rows[column] = static_cast<int64_t>(i);
    there[column] = 1;
  }
  bucket.rows = at::tensor(rows, at::kLong);
  bucket.there = at::tensor(there, at::kFloat).unsqueeze(1);
}

// Whole numbers of a small field of the first stream: all streams have the same.
std::vector<int64_t> whole_numbers(const KeptFields& kept, const char* field, int64_t most,
                                   const std::string& source) {
  const at::Tensor numbers = kept.total(field).select(0, 0).to(at::kDouble).contiguous();
  const double* data = numbers.const_data_ptr<double>();
  std::vector<int64_t> values;
  for (int64_t i = 0; i < numbers.numel(); ++i) {
    const bool sane = data[i] >= 0 && data[i] <= static_cast<double>(most);
    values.push_back(sane ? static_cast<int64_t>(data[i]) : -1);
    if (!sane || static_cast<double>(values.back()) != data[i]) {
      throw InputError(
          "{}: tensor 'plasticity.key.{}' holds {}, expected whole numbers from 0 to {}", source,
          field, data[i], most);
    }
  }
  return values;
}

}  // namespace

PlasticityPlan plan_plasticity(const std::vector<int64_t>& position,
                               const std::vector<int64_t>& group, int64_t replicates,
                               int64_t context) {
  PlasticityPlan plan;
  plan.documents = static_cast<int64_t>(group.size());
  plan.replicates = replicates;
  plan.group = group;
  plan.lanes_of_group = std::max<int64_t>(1, kOrderLanes / plan.groups());
  plan.lanes = (plan.groups() * plan.lanes_of_group + kOrderLanes - 1) / kOrderLanes * kOrderLanes;
  const auto has = [&](int64_t document, int64_t bucket) {
    return group[static_cast<size_t>(document)] >= 0 &&
           position[static_cast<size_t>(document * kPlasticityBuckets + bucket)] > 0;
  };
  for (int64_t number = 2; number < kPlasticityBuckets; ++number) {
    const PositionBucket positions = plasticity_bucket(number, context);
    if (positions.begin == positions.end) continue;
    PlasticityPlan::Bucket& bucket = plan.buckets.emplace_back();
    bucket.number = number;
    bucket.centre = static_cast<double>(positions.begin + positions.end - 1) / 2;
    std::vector<bool> has_query;
    for (int64_t document = 0; document < plan.documents; ++document) {
      has_query.push_back(has(document, number));
      std::vector<int> keys;
      for (int earlier = 0; earlier < number; ++earlier) {
        if (has(document, earlier)) keys.push_back(earlier);
      }
      std::vector<std::pair<int, int>>& pairs = bucket.pairs.emplace_back();
      const auto count = static_cast<int64_t>(keys.size());
      for (const auto& [i, j] : plasticity_pairs(document, number, count)) {
        pairs.emplace_back(keys[static_cast<size_t>(i)], keys[static_cast<size_t>(j)]);
      }
    }
    place_queries(bucket, plan, has_query);
  }
  return plan;
}

PlasticitySource::PlasticitySource(const CaptureMoments& moments,
                                   const std::vector<int64_t>& blocks, const std::string& source)
    : moments_(moments) {
  // A layer of a capture under way has no documents yet, and so no places in the sample.
  if (moments.documents.empty()) return;
  const auto kept = KeptFields::find(moments, plasticity(), StreamKind::key);
  if (!kept) return;
  const std::vector<int64_t> position =
      whole_numbers(*kept, "position", moments.info.context, source);
  std::vector<int64_t> group = whole_numbers(*kept, "block", moments.blocks(), source);
  for (int64_t& one : group) {
    const auto found = std::find(blocks.begin(), blocks.end(), one - 1);
    if (one > 0 && !blocks.empty() && found == blocks.end()) {
      throw InputError("{}: tensor 'plasticity.key.block' holds block {}, which has no documents",
                       source, one - 1);
    }
    if (one > 0)
      one = blocks.empty() ? 0 : found - blocks.begin();
    else
      one = -1;
  }
  plan_ = std::make_shared<const PlasticityPlan>(
      plan_plasticity(position, group, static_cast<int64_t>(blocks.size()), moments.info.context));
}

std::shared_ptr<const PlasticitySample> PlasticitySource::sample(StreamKind kind,
                                                                 int64_t row) const {
  if (!plan_) return nullptr;
  const at::Tensor& all = KeptFields::find(moments_, plasticity(), kind)->total("sample");
  return std::make_shared<const PlasticitySample>(PlasticitySample{
      all.select(0, row).to(at::kFloat).view({plan_->documents, kPlasticityBuckets, -1}), plan_});
}

}  // namespace ropewalk
