#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"

namespace ropewalk {

// A part of a whole at every checkpoint; NaN where a checkpoint lacks it.
struct SharePart {
  std::string name;  // name in the legend
  std::string color;
  std::function<double(const CheckpointNumbers&)> share;
};

struct ShareLook {
  std::string dataset;    // name of its dataset
  std::string title;      // title of the view; empty: none
  double height = 0;      // pixels
  bool all_parts = true;  // shows the number of every part; else only of the first one, and the sum
};

// A view that shows parts of a whole as stacked bars at every checkpoint; its data are added to
// `datasets`.
Json stacked_shares(const CheckpointAxis& axis, const std::vector<SharePart>& parts,
                    const ShareLook& look, Json& datasets);

// The components of a view of a statistic as such parts.
std::vector<SharePart> component_parts(const CheckpointAxis& axis, size_t view);

}  // namespace ropewalk
