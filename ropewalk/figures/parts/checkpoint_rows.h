#pragma once

#include "ropewalk/figures/parts/checkpoint_axis.h"

namespace ropewalk {

// How a map lays out checkpoints from top to bottom: one row each, or the places that they have on
// an axis of time. Each tick is a checkpoint's own; on an axis of time, as many as have room.
struct CheckpointRows {
  double height = 0;  // of the map, in pixels
  double least = 0;   // of its lowest row
  Json scale;         // of y, which checkpoints reach from Slot::from to Slot::to
  Json axis;
  Json params;  // that the axis's labels are looked up in; belong at the top of a specification
};

struct RowSizes {  // in pixels
  double row = 0;
  double most = 0;   // of all rows
  double label = 0;  // rows that are lower have no room for a label each
};

CheckpointRows checkpoint_rows(const CheckpointAxis& axis, const RowSizes& sizes);

// The names of phases, right of a map.
struct RowPhases {
  Json rows;         // {"phase", "text", "y"}, of those that have room
  double width = 0;  // of the widest, in pixels; 0: none
};

RowPhases row_phases(const CheckpointAxis& axis, const CheckpointRows& rows);

// Adds them, `x` pixels from the map's left edge, of the dataset "phases".
void add_row_phases(Json& layers, const RowPhases& phases, const CheckpointRows& rows, double x,
                    const std::string& suffix = "");

// Low rows would show as stripes, with gaps between them: cells reach a little over those below and
// right of them.
void close_gaps(Json& layer, const CheckpointRows& rows);

}  // namespace ropewalk
