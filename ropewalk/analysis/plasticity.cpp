#include "ropewalk/analysis/plasticity.h"

#include <algorithm>

#include "ropewalk/kernels/orders.h"

namespace ropewalk {
namespace {

// Sums of one bucket over pairs of keys, in every case. With a queries above and b below of m, so
// that S = (m + a - b) / 2 prefer the first key and m - a - b are ties, two different queries
// disagree in S(m - S) less a quarter of the ties of the m(m - 1) / 2 choices of them; twice their
// share is (m² - (a - b)² - ties) / (m(m - 1)).
class BucketSums {
 public:
  BucketSums(const PlasticityPlan& plan, const PlasticityPlan::Bucket& bucket)
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

  // Logits of a document's keys of all earlier buckets, [buckets, columns].
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

  double value(size_t row) const {
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
  int64_t all_ = 0;                         // queries
  std::vector<int32_t> above_, below_;      // of a pair, by lane
  std::vector<int64_t> squares_, decided_;  // of a document, by case
  std::vector<double> sums_;                // by case
  std::vector<int64_t> pairs_;
};

}  // namespace

at::Tensor measure_plasticity(const PlasticitySample& queries, const PlasticitySample& keys) {
  const PlasticityPlan& plan = *queries.plan;
  const auto width = static_cast<int64_t>(plan.buckets.size());
  at::Tensor found = at::full({plan.replicates + 1, width}, kUndefined, at::kDouble);
  const int64_t d = queries.vectors.size(2);
  constexpr int64_t kTogether = 16;  // documents whose logits stay in a core's cache
  for (int64_t place = 0; place < width; ++place) {
    const PlasticityPlan::Bucket& bucket = plan.buckets[static_cast<size_t>(place)];
    if (bucket.steps == 0) continue;
    BucketSums sums(plan, bucket);
    const at::Tensor q =
        queries.vectors.select(1, bucket.number).index_select(0, bucket.rows).mul_(bucket.there);
    for (int64_t first = 0; first < plan.documents; first += kTogether) {
      const int64_t count = std::min(kTogether, plan.documents - first);
      const at::Tensor k =
          keys.vectors.narrow(0, first, count).narrow(1, 0, bucket.number).reshape({-1, d});
      const at::Tensor logits = at::mm(k, q.t()).contiguous();  // [count * earlier, columns]
      const float* data = logits.const_data_ptr<float>();
      for (int64_t i = 0; i < count; ++i) {
        sums.add(static_cast<size_t>(first + i), data + i * bucket.number * logits.size(1));
      }
    }
    for (int64_t row = 0; row <= plan.replicates; ++row) {
      found[row][place] = sums.value(static_cast<size_t>(row));
    }
  }
  return found;
}

const at::Tensor& head_plasticity(const HeadCases& head) {
  at::Tensor& found = head.shared->plasticity;
  const auto& queries = head.queries.input.plasticity;
  const auto& keys = head.keys.input.plasticity;
  if (!found.defined() && queries && keys) found = measure_plasticity(*queries, *keys);
  return found;
}

}  // namespace ropewalk
