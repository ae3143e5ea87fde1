#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"

namespace ropewalk {

// A part of a whole at every checkpoint; NaN where a checkpoint does not have it.
struct SharePart {
  std::string name;  // in the legend
  std::string color;
  std::function<double(const CheckpointNumbers&)> share;
};

struct ShareLook {
  std::string dataset;    // the name of its rows
  std::string title;      // of the view; empty: none
  double height = 0;      // pixels
  bool all_parts = true;  // every part has its number; else the first one, and their sum
};

// A view of parts of a whole, stacked, at every checkpoint; what it draws goes to `datasets`.
Json stacked_shares(const CheckpointAxis& axis, const std::vector<SharePart>& parts,
                    const ShareLook& look, Json& datasets);

// The components of a reading as such parts.
std::vector<SharePart> component_parts(const CheckpointAxis& axis, size_t view);

}  // namespace ropewalk
