#include "ropewalk/analysis/replicates/plasticity.h"

#include <algorithm>

#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/moments/orders.h"
#include "ropewalk/moments/accumulators/plasticity.h"

namespace ropewalk {
namespace {

// Assigns the queries of a bucket to columns.
void place_queries(PlasticityPlan::Bucket& bucket, const PlasticityPlan& plan,
                   const std::vector<bool>& has_query) {
  const auto groups = static_cast<size_t>(plan.groups());
  bucket.queries.assign(groups, 0);
  bucket.column.assign(static_cast<size_t>(plan.documents), -1);
  for (size_t i = 0; i < has_query.size(); ++i) {
    if (!has_query[i]) continue;
    const auto group = static_cast<size_t>(plan.group[i]);
    const int64_t index = bucket.queries[group]++;
    const int64_t step = index / plan.lanes_of_group;
    bucket.column[i] =
        step * plan.lanes + plan.group[i] * plan.lanes_of_group + index % plan.lanes_of_group;
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

// The integers of a small field, read from the first stream; they are the same in all streams.
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
          "{}: tensor 'plasticity.key.{}' contains {}, expected whole numbers from 0 to {}", source,
          field, data[i], most);
    }
  }
  return values;
}

// How often two queries of one bucket disagree about which of two keys is the better one, in every
// replicate. Of m queries, a prefer the first key, b the second, and m - a - b neither (ties), so
// that S = (m + a - b) / 2 prefer the first if a tie counts half. There are m(m - 1) / 2 pairs of
// queries, of which S(m - S) less a quarter of the ties disagree; twice their share is
// (m² - (a - b)² - ties) / (m(m - 1)).
class BucketDisagreement {
 public:
  BucketDisagreement(const PlasticityPlan& plan, const PlasticityPlan::Bucket& bucket)
      : plan_(plan),
        bucket_(bucket),
        above_(static_cast<size_t>(plan.lanes)),
        below_(above_.size()),
        squares_(static_cast<size_t>(plan.groups()) + 1),
        decided_(squares_.size()),
        sums_(squares_.size()),
        pairs_(squares_.size()) {
    for (const int64_t count : bucket.queries) all_ += count;
  }

  // Adds one document: the logits of its keys in all earlier buckets, [buckets, columns].
  void add(size_t document, const float* logits) {
    const auto& pairs = bucket_.pairs[document];
    if (pairs.empty()) return;
    std::fill(squares_.begin(), squares_.end(), 0);
    std::fill(decided_.begin(), decided_.end(), 0);
    const int64_t columns = bucket_.steps * plan_.lanes;
    for (const auto& [i, j] : pairs) {
      add_pair(logits + i * columns, logits + j * columns, bucket_.column[document]);
    }
    const int64_t own = bucket_.column[document] >= 0 ? 1 : 0;
    const auto count = static_cast<int64_t>(pairs.size());
    finish(0, all_ - own, count);
    for (int64_t g = 0; g < plan_.replicates; ++g) {
      if (g == plan_.group[document]) continue;
      finish(static_cast<size_t>(g) + 1, all_ - own - bucket_.queries[static_cast<size_t>(g)],
             count);
    }
  }

  // Twice the share of pairs of queries that disagree.
  double doubled_share(size_t row) const {
    return pairs_[row] > 0 ? sums_[row] / static_cast<double>(pairs_[row]) : kUndefined;
  }

 private:
  void add_pair(const float* a, const float* b, int64_t own) {
    count_orders(a, b, bucket_.steps, plan_.lanes, above_.data(), below_.data());
    int64_t more = 0, less = 0;
    for (size_t lane = 0; lane < above_.size(); ++lane) {
      more += above_[lane];
      less += below_[lane];
    }
    if (own >= 0) {
      more -= a[own] > b[own] ? 1 : 0;
      less -= a[own] < b[own] ? 1 : 0;
    }
    squares_[0] += (more - less) * (more - less);
    decided_[0] += more + less;
    const auto width = static_cast<size_t>(plan_.lanes_of_group);
    for (size_t g = 0; g < static_cast<size_t>(plan_.replicates); ++g) {
      int64_t without_more = more, without_less = less;
      for (size_t lane = g * width; lane < (g + 1) * width; ++lane) {
        without_more -= above_[lane];
        without_less -= below_[lane];
      }
      squares_[g + 1] += (without_more - without_less) * (without_more - without_less);
      decided_[g + 1] += without_more + without_less;
    }
  }

  void finish(size_t row, int64_t m, int64_t pairs) {
    if (m < 2) return;
    const int64_t disagree = pairs * m * (m - 1) - squares_[row] + decided_[row];
    sums_[row] += static_cast<double>(disagree) / static_cast<double>(m * (m - 1));
    pairs_[row] += pairs;
  }

  const PlasticityPlan& plan_;
  const PlasticityPlan::Bucket& bucket_;
  int64_t all_ = 0;                         // number of queries
  std::vector<int32_t> above_, below_;      // for one pair, per lane
  std::vector<int64_t> squares_, decided_;  // for one document, per replicate
  std::vector<double> sums_;                // per replicate
  std::vector<int64_t> pairs_;
};

class PlasticityParts : public KeptParts {
 public:
  explicit PlasticityParts(const AnalyzedCapture& capture) : moments_(capture.moments) {
    // While a capture is running, a layer may have no documents yet, and then no sample.
    if (moments_.documents.empty()) return;
    const auto kept = KeptFields::find(moments_, ropewalk::plasticity(), StreamKind::key);
    const int64_t context = moments_.info.context;
    const std::vector<int64_t>& blocks = capture.blocks;
    const auto position = whole_numbers(*kept, "position", context, capture.source);
    auto group = whole_numbers(*kept, "block", moments_.blocks(), capture.source);
    for (int64_t& one : group) {
      const auto found = std::find(blocks.begin(), blocks.end(), one - 1);
      if (one > 0 && !blocks.empty() && found == blocks.end()) {
        throw InputError(
            "{}: tensor 'plasticity.key.block' contains block {}, which has no documents",
            capture.source, one - 1);
      }
      if (one > 0) {
        one = blocks.empty() ? 0 : found - blocks.begin();
      } else {
        one = -1;
      }
    }
    plan_ = std::make_shared<const PlasticityPlan>(
        plan_plasticity(position, group, static_cast<int64_t>(blocks.size()), context));
  }

  std::any part(StreamKind kind, int64_t row) const override {
    if (!plan_) return {};
    const at::Tensor all =
        KeptFields::find(moments_, ropewalk::plasticity(), kind)->total("sample");
    return std::make_shared<const PlasticitySample>(PlasticitySample{
        all.select(0, row).to(at::kFloat).view({plan_->documents, kPlasticityBuckets, -1}), plan_});
  }

 private:
  const CaptureMoments& moments_;
  std::shared_ptr<const PlasticityPlan> plan_;
};

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

at::Tensor measure_plasticity(const PlasticitySample& queries, const PlasticitySample& keys) {
  const PlasticityPlan& plan = *queries.plan;
  const auto width = static_cast<int64_t>(plan.buckets.size());
  at::Tensor found = at::full({plan.replicates + 1, width}, kUndefined, at::kDouble);
  const int64_t d = queries.vectors.size(2);
  constexpr int64_t kTogether = 16;  // number of documents whose logits fit into a core's cache
  for (int64_t index = 0; index < width; ++index) {
    const PlasticityPlan::Bucket& bucket = plan.buckets[static_cast<size_t>(index)];
    if (bucket.steps == 0) continue;
    BucketDisagreement disagreement(plan, bucket);
    const at::Tensor q =
        queries.vectors.select(1, bucket.number).index_select(0, bucket.rows).mul_(bucket.there);
    for (int64_t first = 0; first < plan.documents; first += kTogether) {
      const int64_t count = std::min(kTogether, plan.documents - first);
      const at::Tensor k =
          keys.vectors.narrow(0, first, count).narrow(1, 0, bucket.number).reshape({-1, d});
      const at::Tensor logits = at::mm(k, q.t()).contiguous();  // [count * earlier, columns]
      const float* data = logits.const_data_ptr<float>();
      for (int64_t i = 0; i < count; ++i) {
        disagreement.add(static_cast<size_t>(first + i), data + i * bucket.number * logits.size(1));
      }
    }
    for (int64_t row = 0; row <= plan.replicates; ++row) {
      found[row][index] = disagreement.doubled_share(static_cast<size_t>(row));
    }
  }
  return found;
}

const at::Tensor& head_plasticity(const HeadReplicates& head) {
  at::Tensor& found = head.shared->of["plasticity"];
  const auto queries = head.queries.input.part<PlasticitySample>("plasticity");
  const auto keys = head.keys.input.part<PlasticitySample>("plasticity");
  if (!found.defined() && queries && keys) found = measure_plasticity(*queries, *keys);
  return found;
}

namespace parts_of {

std::unique_ptr<KeptParts> plasticity(const AnalyzedCapture& capture) {
  return std::make_unique<PlasticityParts>(capture);
}

}  // namespace parts_of

}  // namespace ropewalk
