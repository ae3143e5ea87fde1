#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/analysis/forecast/forecast.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// The losses of a model under every setting of a forecast, on the same documents.
struct ForecastLosses {
  std::vector<DocumentRecord> records;
  LossDocuments documents;
  std::vector<at::Tensor> sums;  // per setting: [documents, bins] float64, in nats
};

// Positions begin … end - 1.
struct PositionRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool operator==(const PositionRange&) const = default;
};

// The mean loss of a setting over these positions, in nats per token, with its error over
// documents, or over texts where documents are their pieces. NaN: unknown.
struct SettingLoss {
  double loss = kUnknown;
  double se = kUnknown;
  int64_t tokens = 0;
};
SettingLoss setting_loss(const ForecastLosses& losses, size_t setting, const PositionRange& range);

// The ranges of positions in which losses are compared, all of whole bins: all, those that the
// model was trained with, and those beyond. A range is left out where no bin is in it.
struct NamedRange {
  const char* name;  // "all", "trained", "beyond"
  PositionRange range;
};
std::vector<NamedRange> compared_ranges(int64_t trained, int64_t context);
// The bins up to the context.
std::vector<PositionRange> position_bins(int64_t context);

// How well a number of the forecast ranks settings by their loss.
struct RankCheck {
  NamedRange range;
  const char* ranked_by = "score";  // or "disturbance", or "sum" of it and excursion
  double rho = kUnknown;            // Spearman's rank correlation over settings
  // 95 % of the resamples of documents, or of texts
  double rho_low = kUnknown;
  double rho_high = kUnknown;
  size_t first = 0;  // index of the setting that the number ranks first
  size_t best = 0;   // of the one with the lowest loss
  SettingLoss first_loss;
  SettingLoss best_loss;
  double excess = kUnknown;  // loss of the first less that of the best
  double excess_se = kUnknown;
};
// By score, by disturbance, and by disturbance + excursion, in each range.
std::vector<RankCheck> check_ranks(const Forecast& forecast, const ForecastLosses& losses);

// Spearman's rank correlation; equal numbers share their mean rank. NaN for fewer than three
// numbers, or where all are equal.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ropewalk
