#include "ropewalk/kernels/positions.h"

#include <vector>

namespace ropewalk {

Positions::Positions(const at::Tensor& positions)
    : positions_(positions.to(at::kCPU).to(at::kLong).contiguous()) {
  const at::Tensor wide = positions_.to(at::kDouble);
  if (tokens() == 0) return;
  mean_ = wide.mean().item<double>();
  scatter_ = (wide - mean_).square().sum().item<double>();
  consecutive_ = positions_.equal(at::arange(tokens(), at::kLong) + positions_[0]);
}

Positions Positions::counted(int64_t tokens) { return Positions(at::arange(tokens, at::kLong)); }

const Positions::Chunks& Positions::chunks(int64_t size, const at::Device& device) const {
  for (const Chunks& made : chunks_) {
    if (made.size == size && made.offset.device() == device) return made;
  }
  const at::Tensor wide = positions_.to(at::kDouble);
  std::vector<at::Tensor> offsets;
  std::vector<double> middles;
  for (const at::Tensor& chunk : wide.split(size)) {
    middles.push_back(chunk.mean().item<double>());
    offsets.push_back((chunk - middles.back()).to(at::kFloat));
  }
  const auto there = [&](const at::Tensor& made) {
    return made.to(device, /*non_blocking=*/true);  // does not wait for a busy GPU
  };
  chunks_.push_back({size, there(at::cat(offsets)), there(at::tensor(middles, at::kDouble))});
  return chunks_.back();
}

const Positions::Parts& Positions::parts(int64_t first) const {
  for (const Parts& made : parts_) {
    if (made.first == first) return made;
  }
  const at::Tensor below = positions_ < first;
  const at::Tensor early = below.nonzero().flatten();
  const at::Tensor late = below.logical_not().nonzero().flatten();
  const int64_t count = early.size(0);
  const bool ordered = count == 0 || early[count - 1].item<int64_t>() == count - 1;
  parts_.push_back({first, early, late, ordered,
                    std::make_shared<const Positions>(positions_.index_select(0, late))});
  return parts_.back();
}

at::Tensor Positions::Parts::early_of(const at::Tensor& x) const {
  return ordered ? x.slice(1, 0, early.size(0)) : x.index_select(1, early.to(x.device()));
}

at::Tensor Positions::Parts::late_of(const at::Tensor& x) const {
  return ordered ? x.slice(1, early.size(0)) : x.index_select(1, late.to(x.device()));
}

}  // namespace ropewalk
