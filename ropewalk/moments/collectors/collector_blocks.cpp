// Operations on single blocks of a collector: leaving a block out, and filling one.
#include "ropewalk/base/error.h"
#include "ropewalk/moments/collectors/moments_collector.h"

namespace ropewalk {

std::set<int64_t> MomentsCollector::fetch_finite() {
  side_.finish();
  std::set<int64_t> wrong;
  for (const auto& [number, gpu] : gpu_) {
    const at::Tensor bad = gpu.bad.to(at::kCPU);
    for (int64_t stream = 0; stream < bad.size(0); ++stream) {
      const auto document = bad[stream].item<int64_t>();
      if (document != kNoDocument) wrong.insert(document % blocks_);
    }
    copy_to_host(gpu.numbers, numbers(layers_.at(number)));
  }
  gpu_.clear();
  gpu_heads_.clear();
  if (wrong.empty()) return wrong;
  // A stream names only its first document.
  for (const auto& [number, layer] : layers_) {
    for (const Fields& fields : layer.fields) {
      for (const at::Tensor& field : fields) {
        const at::Tensor finite = field.isfinite().all(2).all(0);  // [blocks]
        const bool blocks = field.size(1) == blocks_;
        for (int64_t block = 0; block < finite.size(0); ++block) {
          if (finite[block].item<bool>()) continue;
          if (blocks) {
            wrong.insert(block);
            continue;
          }
          throw InputError("layer {}: sums without blocks are not all finite", number);
        }
      }
    }
  }
  for (const int64_t block : wrong) leave_out(block);
  return wrong;
}

void MomentsCollector::leave_out(int64_t block) {
  const auto b = static_cast<size_t>(block);
  for (auto& [number, layer] : layers_) {
    for (const Fields& fields : layer.fields) {
      for (const at::Tensor& field : fields) {
        if (field.size(1) == blocks_) field.select(1, block).zero_();
      }
    }
    layer.counts.documents[b] = layer.counts.tokens[b] = 0;
    layer.counts.position_mean[b] = layer.counts.position_scatter[b] = 0;
  }
}

void MomentsCollector::fill(int64_t number, int64_t block, const std::vector<Fields>& numbers,
                            const BlockCounts& counts) {
  Layer& layer = layers_.at(number);
  for (size_t a = 0; a < numbers.size(); ++a) {
    for (size_t f = 0; f < numbers[a].size(); ++f) {
      const at::Tensor& field = layer.fields[a][f];
      if (field.size(1) == blocks_) {
        field.select(1, block).copy_(numbers[a][f]);
      } else {
        field.select(1, 0).add_(numbers[a][f]);
      }
    }
  }
  layer.counts.add_block(block, counts, 0);
}

}  // namespace ropewalk
