#include "ropewalk/analysis/forecast/head_forecast.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/math/drawn_argmax.h"
#include "ropewalk/analysis/math/jackknife.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

at::Tensor octaves(const at::Tensor& distances) { return (distances.to(at::kDouble) + 1).log2(); }

double octaves(double distance) { return std::log2(1 + distance); }

int64_t best_of(const at::Tensor& curve) { return curve.argmax().item<int64_t>(); }

}  // namespace

TrainedLogits::TrainedLogits(const at::Tensor& own, int64_t trained, std::span<const double> sizes)
    : known_(own.slice(1, 0, trained)), sizes_(sizes) {
  weights_ = at::arange(1, known_.size(1) + 1, at::kDouble).reciprocal();
  weights_ = weights_ / weights_.sum();
  highest_ = known_.amax(1);
  if (known_.size(0) > 2) drawn_ = octaves(drawn_argmax(known_));
}

Estimate TrainedLogits::estimate(const at::Tensor& cases) const {
  const at::Tensor values = cases.contiguous();
  const double* data = values.const_data_ptr<double>();
  Estimate made{data[0], kNone, {data + 1, data + values.numel()}};
  made.se = jackknife_se(made.value, made.replicates, sizes_);
  return made;
}

HeadForecast TrainedLogits::compare(const at::Tensor& logits) const {
  const int64_t trained = known_.size(1);
  HeadForecast found;
  const at::Tensor change = logits.slice(1, 0, trained) - known_;
  const at::Tensor shift = at::mv(change, weights_);  // [1 + blocks]
  found.disturbance = estimate(at::mv(change.square(), weights_).sqrt());
  found.shift = estimate(shift);
  const at::Tensor beyond = logits.slice(1, trained);
  // Where no distance is unknown, none stands out.
  const bool unknown = beyond.size(1) > 0;
  const at::Tensor above = unknown ? beyond.amax(1) - highest_ : at::zeros_like(highest_);
  found.excursion = estimate(above.clamp_min(0));
  const at::Tensor uneven = at::mv((change - shift.unsqueeze(1)).square(), weights_).sqrt();
  found.score = estimate(unknown ? at::maximum(uneven, above - shift) : uneven);
  compare_preferences(logits, found);
  return found;
}

void TrainedLogits::compare_preferences(const at::Tensor& logits, HeadForecast& found) const {
  found.preferred = best_of(known_[0]);
  found.moved = found.moved_low = found.moved_high = kNone;
  if (logits[0].max().equal(logits[0].min())) return;
  found.preferred_then = best_of(logits[0]);
  const double before = octaves(static_cast<double>(found.preferred));
  const auto then = static_cast<double>(*found.preferred_then);
  found.moved = octaves(then) - before;
  if (!drawn_.defined()) return;
  const at::Tensor drawn = octaves(drawn_argmax(logits)) - drawn_;
  const at::Tensor ends = drawn.quantile(at::tensor({0.16, 0.84}, at::kDouble));
  // A whole number is known to half a token at best.
  found.moved_low = std::min(ends[0].item<double>(), octaves(then - 0.5) - before);
  found.moved_high = std::max(ends[1].item<double>(), octaves(then + 0.5) - before);
}

Estimate mean_estimate(const std::vector<Estimate>& all, std::span<const double> sizes) {
  Estimate mean{0, kNone, std::vector<double>(sizes.size(), 0.0)};
  const auto count = static_cast<double>(all.size());
  for (const Estimate& one : all) {
    mean.value += one.value / count;
    for (size_t b = 0; b < sizes.size(); ++b) mean.replicates[b] += one.replicates[b] / count;
  }
  mean.se = jackknife_se(mean.value, mean.replicates, sizes);
  return mean;
}

}  // namespace ropewalk
