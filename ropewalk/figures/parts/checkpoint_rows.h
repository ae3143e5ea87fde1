#pragma once

#include "ropewalk/figures/parts/checkpoint_axis.h"

namespace ropewalk {

// How a map arranges checkpoints from top to bottom: one row each, or at their positions on an axis
// of time. Each tick belongs to a checkpoint; on an axis of time, only as many as have room.
struct CheckpointRows {
  double height = 0;  // of the map, in pixels
  double least = 0;   // height of the lowest row
  Json scale;         // scale of y, on which checkpoints reach from Slot::from to Slot::to
  Json axis;
  Json params;  // hold the texts of the axis's labels; belong at the top level of a specification
};

struct RowSizes {  // Sizes in pixels.
  double row = 0;
  double most = 0;   // of all rows together
  double label = 0;  // rows that are lower have no room for their own label
};

CheckpointRows checkpoint_rows(const CheckpointAxis& axis, const RowSizes& sizes);

// The names of phases to the right of a map.
struct RowPhases {
  Json rows;         // {"phase", "text", "y"}, for phases with enough room
  double width = 0;  // width of the widest name, in pixels; 0: none
};

RowPhases row_phases(const CheckpointAxis& axis, const CheckpointRows& rows);

// Adds the names at `x` pixels from the map's left edge, from the dataset "phases".
void add_row_phases(Json& layers, const RowPhases& phases, const CheckpointRows& rows, double x,
                    const std::string& suffix = "");

// Low rows would look like stripes with gaps between them, so cells overlap those below and to the
// right.
void close_gaps(Json& layer, const CheckpointRows& rows);

}  // namespace ropewalk
