#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Colours and texts of the numbers in a depth map: pale at 0, darker the further from it. Numbers
// below 0 have another hue, which begins with a step: none of them looks like 0.
class DepthScale {
 public:
  // For these numbers, without NaN.
  DepthScale(const IndexedView& indexed, const std::vector<double>& numbers);

  std::string color(double value) const;  // "#rrggbb"
  std::string text(double value) const;   // in a cell
  bool has_negatives() const { return stops_.front().value < 0; }
  std::string negative_hue() const;
  // Of the texts in cells and beside the legend; values and domain are as they are.
  double unit() const { return unit_; }

  Json domain() const;
  Json range() const;
  // Of the legend.
  Json ticks() const;
  // How their texts are made: members of the legend.
  Json tick_texts() const;

 private:
  struct Stop {
    double value = 0;
    std::string_view color;
  };

  Hue hue_;
  double high_ = 1;
  int digits_ = 2;
  double unit_ = 1;
  std::vector<Stop> stops_;
};

}  // namespace ropewalk
