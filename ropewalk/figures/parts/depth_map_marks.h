#pragma once

#include <vector>

#include "ropewalk/figures/parts/checkpoint_rows.h"
#include "ropewalk/figures/parts/depth_columns.h"
#include "ropewalk/figures/parts/depth_scale.h"

namespace ropewalk {

// The marks of a Vega-Lite map whose columns are depths of the model and whose rows are
// checkpoints. Each function returns one layer of the figure; their datasets are `cells` and
// `separators`.
class DepthMapMarks {
 public:
  // `depth_alone`: columns state neither layers nor heads.
  DepthMapMarks(const std::vector<DepthColumn>& columns, const CheckpointRows& rows,
                bool depth_alone);

  // The background of cells that have no number.
  Json empty_cells() const;
  Json colored_cells(const IndexedView& indexed, const DepthScale& scale) const;
  // The numbers that are written inside cells.
  Json cell_texts() const;
  // Lines between phases, `width` pixels long.
  Json phase_lines(double width) const;

 private:
  Json x(const char* field) const;
  Json y(const char* field) const;
  Json whole_cell() const;

  CheckpointRows rows_;
  Json x_scale_;
  Json x_axis_;
};

}  // namespace ropewalk
