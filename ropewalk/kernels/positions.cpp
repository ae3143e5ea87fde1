#include "ropewalk/kernels/positions.h"

#include <vector>

namespace ropewalk {

Positions::Positions(const at::Tensor& positions)
    : positions_(positions.to(at::kCPU).to(at::kLong).contiguous()) {
  const at::Tensor wide = positions_.to(at::kDouble);
  if (tokens() == 0) return;
  mean_ = wide.mean().item<double>();
  scatter_ = (wide - mean_).square().sum().item<double>();
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
  chunks_.push_back(
      {size, at::cat(offsets).to(device), at::tensor(middles, at::kDouble).to(device)});
  return chunks_.back();
}

}  // namespace ropewalk
