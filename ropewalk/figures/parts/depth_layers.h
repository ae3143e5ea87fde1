#pragma once

#include <vector>

#include "ropewalk/figures/parts/checkpoint_rows.h"
#include "ropewalk/figures/parts/depth_columns.h"
#include "ropewalk/figures/parts/depth_scale.h"

namespace ropewalk {

// The layers of a Vega-Lite map whose columns are depths and whose rows are checkpoints. Their
// datasets are `cells` and `separators`.
class DepthLayers {
 public:
  // `depth_alone`: columns state neither layers nor heads.
  DepthLayers(const std::vector<DepthColumn>& columns, const CheckpointRows& rows,
              bool depth_alone);

  // The background, which shows in cells without a number.
  Json ground() const;
  Json cells(const IndexedView& indexed, const DepthScale& scale) const;
  // The texts inside cells.
  Json numbers() const;
  // Lines between phases, `width` pixels long.
  Json separators(double width) const;

 private:
  Json x(const char* field) const;
  Json y(const char* field) const;
  Json whole_cell() const;

  CheckpointRows rows_;
  Json x_scale_;
  Json x_axis_;
};

}  // namespace ropewalk
