#pragma once

#include "ropewalk/figures/parts/mean_layers.h"

namespace ropewalk {

// The channels that the layers of a plot of means share.
class MeanChannels {
 public:
  MeanChannels(const CheckpointAxis& axis, const std::vector<MeanSeries>& series,
               const MeanPlot& plot)
      : axis_(axis), series_(series), plot_(plot) {}

  Json y(const char* field) const;
  Json color() const;
  Json shape() const;
  Json tooltip() const;

 private:
  Json by_series(const Json& range) const;

  const CheckpointAxis& axis_;
  const std::vector<MeanSeries>& series_;
  const MeanPlot& plot_;
};

}  // namespace ropewalk
