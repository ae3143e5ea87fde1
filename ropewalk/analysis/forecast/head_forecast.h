#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// What a RoPE setting does to one head, in logits (docs/forecast.md). Errors are of the documents
// of the capture.
struct HeadForecast {
  // root mean square change of the logit at distances that the model was trained with, weighted by
  // 1 / (1 + distance)
  Estimate disturbance;
  // largest logit at distances beyond these, less the largest that the model was trained with;
  // 0 where it is not larger
  Estimate excursion;
  // mean change of the logit at distances that the model was trained with, weighted likewise: what
  // the softmax does not see
  Estimate shift;
  // With `shift` taken from all its logits: the larger of disturbance and excursion.
  Estimate score;
  // octaves by which the preferred distance moves away, and the middle 68 % of its resamples; NaN
  // where the setting prefers none
  double moved = 0;
  double moved_low = 0;
  double moved_high = 0;
  int64_t preferred = 0;  // the preferred distance of the model's own setting, as trained
  // that of the setting, over all distances; empty: all distances have the same logit
  std::optional<int64_t> preferred_then;
};

// The logits of a head's mean query and key at the distances that the model was trained with, by
// which its settings are measured.
class TrainedLogits {
 public:
  // `own`: [1 + blocks, distances] float64: under the model's own setting, of the whole sample and
  // without each block; `trained`: how many distances, from 0 on, the model was trained with;
  // `sizes`: tokens of the blocks.
  TrainedLogits(const at::Tensor& own, int64_t trained, std::span<const double> sizes);

  // `logits`: [1 + blocks, distances] float64, under a setting.
  HeadForecast compare(const at::Tensor& logits) const;

 private:
  Estimate estimate(const at::Tensor& cases) const;
  void compare_preferences(const at::Tensor& logits, HeadForecast& found) const;

  at::Tensor known_;    // [1 + blocks, trained]
  at::Tensor weights_;  // [trained], which add up to 1
  at::Tensor highest_;  // [1 + blocks]
  at::Tensor drawn_;    // [draws]: octaves of the preferred distance; undefined: without errors
  std::span<const double> sizes_;
};

// The mean of estimates of the same blocks, with its own error.
Estimate mean_estimate(const std::vector<Estimate>& all, std::span<const double> sizes);

}  // namespace ropewalk
