#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Colours and texts of the numbers in a depth map: pale at 0, and darker with distance from it.
// Negative numbers have another hue, which begins with a visible step, so that none of them looks
// like 0.
class DepthScale {
 public:
  // `numbers` must not contain NaN.
  DepthScale(const IndexedView& indexed, const std::vector<double>& numbers);

  std::string color(double value) const;  // "#rrggbb"
  std::string text(double value) const;   // the text in a cell
  bool has_negatives() const { return stops_.front().value < 0; }
  std::string negative_hue() const;
  // The unit of the texts in cells and in the legend; values and domain have unit 1.
  double unit() const { return unit_; }

  Json domain() const;
  Json range() const;
  // Ticks of the legend.
  Json ticks() const;
  // Members of the legend that format its texts.
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
