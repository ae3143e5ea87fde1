#include "ropewalk/moments/accumulators/plasticity.h"

#include "ropewalk/model/config.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/moments/plasticity_sample.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Places of the fields.
enum PlasticityField : size_t { queries, keys, position, block };

// To float16 and back, but for vectors beyond it, and those that have nothing but its subnormal
// numbers. [..., d] float32.
at::Tensor rounded(const at::Tensor& vectors) {
  constexpr double kLargest = 65504, kLeast = 0x1p-14;
  const at::Tensor largest = vectors.abs().amax(-1, true);
  const at::Tensor fits = (largest <= kLargest).logical_and(largest >= kLeast);
  return at::where(fits, vectors.to(at::kHalf).to(at::kFloat), vectors);
}

// Where the vectors are; no stream is waited for.
at::Tensor on_device(const std::vector<int64_t>& values, const at::Device& device) {
  const at::Tensor here = at::tensor(values, at::kLong);
  return device.is_cuda() ? here.pin_memory().to(device, /*non_blocking=*/true) : here;
}

class Plasticity : public Accumulator {
 public:
  std::string name() const override { return "plasticity"; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    return {{kPostRope, "q"}, {kPostRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    const int64_t tokens = shape.plasticity * kPlasticityBuckets;
    const auto field = [](const char* name, StreamKind kind, int64_t width) {
      return KeptField{name, kind, width, true, false, true};
    };
    return {field("sample", StreamKind::query, tokens * shape.head_dim),
            field("sample", StreamKind::key, tokens * shape.head_dim),
            field("position", StreamKind::key, tokens),
            field("block", StreamKind::key, shape.plasticity)};
  }

  void add(const Taken& taken, const Destination& to) const override {
    const std::vector<at::Tensor>& numbers = to.block.numbers;
    const int64_t slot = taken.document->index;
    if (slot >= numbers[block].size(1)) return;
    std::vector<int64_t> chosen;
    for (int64_t bucket = 0; bucket < kPlasticityBuckets; ++bucket) {
      chosen.push_back(plasticity_token(slot, bucket, to.context, taken.positions->tokens()));
    }
    const at::Tensor& q = taken["q"];
    const at::Tensor tokens = on_device(chosen, q.device());  // [buckets]
    const at::Tensor there = (tokens >= 0).unsqueeze(1);      // [buckets, 1]
    const auto sample = [&](const at::Tensor& vectors, const std::vector<int64_t>& heads,
                            const at::Tensor& gpu_heads, PlasticityField field) {
      const at::Tensor some = vectors.index_select(1, tokens.clamp_min(0));
      const at::Tensor streams =
          gpu_heads.defined() ? some.index_select(0, gpu_heads) : chosen_heads(some, heads);
      slot_of(numbers[field], slot, {kPlasticityBuckets, vectors.size(2)})
          .copy_(at::where(there, rounded(streams.to(at::kFloat)), 0.0));
    };
    sample(q, to.streams.q_heads, to.q_heads, queries);
    sample(taken["k"], to.streams.kv_heads, to.kv_heads, keys);
    slot_of(numbers[position], slot, {kPlasticityBuckets}).copy_(tokens + 1);
    slot_of(numbers[block], slot, {}).fill_(static_cast<double>(to.block_no + 1));
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (size_t i = 0; i < whole.numbers.size(); ++i) whole.numbers[i].add_(part.numbers[i]);
  }

  int64_t workspace(const ModelConfig& config, int64_t, at::ScalarType,
                    const at::Device&) const override {
    constexpr int64_t kCopies = 4;  // float32
    return (config.n_q_heads + config.n_kv_heads) * kPlasticityBuckets * config.d_head * kCopies *
           static_cast<int64_t>(sizeof(float));
  }

 private:
  // A document's part of a field [streams, width]: [streams, …].
  static at::Tensor slot_of(const at::Tensor& field, int64_t slot,
                            const std::vector<int64_t>& shape) {
    std::vector<int64_t> all{field.size(0), -1};
    all.insert(all.end(), shape.begin(), shape.end());
    return field.view(all).select(1, slot);
  }

  static bool has(const CaptureShape& shape) {
    return shape.plasticity > 0 && shape.context > 0 && shape.point == kPostRope;
  }
};

}  // namespace

const Accumulator& plasticity() {
  static const Plasticity kAccumulator;
  return kAccumulator;
}

}  // namespace ropewalk
