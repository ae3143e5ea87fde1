#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The index at which a curve is largest, in each of kResamples resamples of its blocks
// (resampling.h), which are the same for all curves with as many blocks: [draws] int64. `curves` is
// [1 + blocks, points] float64: the whole sample's curve, then those without each block.
at::Tensor drawn_argmax(const at::Tensor& curves);

}  // namespace ropewalk
