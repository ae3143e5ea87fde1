#include "ropewalk/moments/plasticity_sample.h"

#include <algorithm>

#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

// SplitMix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  enum Use : uint64_t { token, pairs };
  Random(int64_t document, int64_t bucket, Use use)
      : state_(2 * static_cast<uint64_t>(document * kPlasticityBuckets + bucket) + use) {}

  // A number below n; of the few that are asked for, all are as likely but for 2^-50.
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }

 private:
  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

}  // namespace

int64_t plasticity_slots(int64_t last_document) {
  return std::clamp<int64_t>(last_document + 1, 0, kPlasticityDocuments);
}

PositionBucket plasticity_bucket(int64_t bucket, int64_t context) {
  // Not bucket * context / 16, which a context out of a file may overflow.
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
      Random(document, bucket, Random::token).below(positions.end - positions.begin);
  return token < tokens ? token : -1;
}

std::vector<std::pair<int, int>> plasticity_pairs(int64_t document, int64_t bucket, int64_t keys) {
  std::vector<std::pair<int, int>> all;
  for (int i = 0; i < keys; ++i) {
    for (int j = i + 1; j < keys; ++j) all.emplace_back(i, j);
  }
  const auto count = static_cast<int64_t>(all.size());
  if (count <= kPlasticityPairs) return all;
  Random random(document, bucket, Random::pairs);
  for (int64_t i = 0; i < kPlasticityPairs; ++i) {
    std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(i + random.below(count - i))]);
  }
  all.resize(static_cast<size_t>(kPlasticityPairs));
  return all;
}

}  // namespace ropewalk
