#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/forecast/head_forecast.h"
#include "ropewalk/analysis/forecast/rope_spec.h"
#include "ropewalk/analysis/forecast/varied_rope.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// A query head whose layer turns.
struct ForecastHead {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t kv_head = 0;
};

// What one RoPE setting does to all heads.
struct SettingForecast {
  RopeSpec spec;
  std::vector<HeadForecast> heads;  // in the order of Forecast::heads
  // Means over heads.
  Estimate score;
  Estimate disturbance;
  Estimate excursion;
  Estimate shift;
};

// A forecast of RoPE settings for a context, from one capture.
struct Forecast {
  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  bool random = false;     // fresh weights
  bool by_length = false;  // the model's own angles depend on the length of a document
  TrainedContext trained;
  int64_t context = 0;
  std::vector<double> block_tokens;  // of the blocks over which errors are; empty: no errors
  std::vector<ForecastHead> heads;
  std::vector<SettingForecast> settings;  // in the order of the user

  // Half of a 95 % interval, in standard errors.
  double interval() const;
  // Whether a head's logits beyond what the model was trained with are higher than chance explains.
  bool breaks(const HeadForecast& head) const;
  int64_t breaking(const SettingForecast& setting) const;
  // The settings by score, best first, as indexes.
  std::vector<size_t> ranked() const;
};

// `source` names the capture in errors. `memory`: bytes. Throws UsageError where a setting is
// impossible for the model or the context does not fit, and InputError where the capture lacks the
// sums before RoPE.
Forecast forecast_settings(const CaptureMoments& capture, const std::string& source,
                           const std::vector<RopeSpec>& specs, const TrainedContext& trained,
                           int64_t context, int64_t memory);

// Throws UsageError unless a model that was trained at `trained` can be asked about `context`.
void require_forecast_context(int64_t context, const TrainedContext& trained);

}  // namespace ropewalk
