#include "ropewalk/moments/accumulators/plasticity.h"

#include <algorithm>

#include "ropewalk/base/split_mix.h"
#include "ropewalk/kernels/gpu/host_numbers.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/accumulators/stream_moments.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

// Random numbers for a document and a bucket.
enum class Use : uint64_t { token, pairs };
SplitMix random_numbers(int64_t document, int64_t bucket, Use use) {
  return SplitMix(2 * static_cast<uint64_t>(document * kPlasticityBuckets + bucket) +
                  static_cast<uint64_t>(use));
}

// Indexes of the fields.
enum PlasticityField : size_t { queries, keys, position, block };

// Rounds to float16 and back, except vectors beyond its range and vectors with only subnormal
// numbers. [..., d] float32.
at::Tensor rounded(const at::Tensor& vectors) {
  constexpr double kLargest = 65504, kLeast = 0x1p-14;
  const at::Tensor largest = vectors.abs().amax(-1, true);
  const at::Tensor fits = (largest <= kLargest).logical_and(largest >= kLeast);
  return at::where(fits, vectors.to(at::kHalf).to(at::kFloat), vectors);
}

class Plasticity : public Accumulator {
 public:
  std::string name() const override { return "plasticity"; }
  int64_t numerics() const override { return 7; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    return {{kPostRope, "q"}, {kPostRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    if (!has(shape)) return {};
    const int64_t slots = plasticity_slots(shape.documents);
    const int64_t tokens = slots * kPlasticityBuckets;
    const auto field = [](const char* name, StreamKind kind, int64_t width) {
      return KeptField{name, kind, width, true, false, true};
    };
    return {field("sample", StreamKind::query, tokens * shape.head_dim),
            field("sample", StreamKind::key, tokens * shape.head_dim),
            field("position", StreamKind::key, tokens), field("block", StreamKind::key, slots)};
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
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
    return shape.keep.plasticity && shape.documents > 0 && shape.context > 0 &&
           shape.point == kPostRope;
  }
};

}  // namespace

int64_t plasticity_slots(int64_t documents) {
  return std::clamp<int64_t>(documents, 0, kPlasticityDocuments);
}

PositionBucket plasticity_bucket(int64_t bucket, int64_t context) {
  // Not bucket * context / 16, because the context comes from a file and may overflow.
  const auto edge = [&](int64_t b) {
    return context / kPlasticityBuckets * b + context % kPlasticityBuckets * b / kPlasticityBuckets;
  };
  const int64_t end = edge(bucket + 1);
  return {std::min(std::max(edge(bucket), kFirstTokens), end), end};
}

int64_t plasticity_token(int64_t document, int64_t bucket, int64_t context, int64_t tokens) {
  const PositionBucket positions = plasticity_bucket(bucket, context);
  if (positions.begin == positions.end) return -1;
  const int64_t token =
      positions.begin +
      random_numbers(document, bucket, Use::token).below(positions.end - positions.begin);
  return token < tokens ? token : -1;
}

std::vector<std::pair<int, int>> plasticity_pairs(int64_t document, int64_t bucket, int64_t keys) {
  std::vector<std::pair<int, int>> all;
  for (int i = 0; i < keys; ++i) {
    for (int j = i + 1; j < keys; ++j) all.emplace_back(i, j);
  }
  const auto count = static_cast<int64_t>(all.size());
  if (count <= kPlasticityPairs) return all;
  SplitMix random = random_numbers(document, bucket, Use::pairs);
  for (int64_t i = 0; i < kPlasticityPairs; ++i) {
    std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(i + random.below(count - i))]);
  }
  all.resize(static_cast<size_t>(kPlasticityPairs));
  return all;
}

const Accumulator& plasticity() {
  static const Plasticity kAccumulator;
  return kAccumulator;
}

}  // namespace ropewalk
