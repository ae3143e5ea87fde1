#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/model/forward.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {

inline constexpr int64_t kPlentyOfMemory = int64_t{1} << 30;

// Records everything that it receives, and the order of the calls.
class VectorRecorder : public Observer {
 public:
  explicit VectorRecorder(std::vector<int64_t> layers,
                          std::vector<std::string> points = {kPostRope})
      : layers_(std::move(layers)), points_(std::move(points)) {}

  std::vector<Tap> taps(int64_t layer) const override {
    std::vector<Tap> taps;
    if (std::find(layers_.begin(), layers_.end(), layer) == layers_.end()) return taps;
    for (const std::string& point : points_) {
      for (const char* vectors : {"q", "k"}) taps.push_back({point, vectors});
    }
    return taps;
  }
  void on_vectors(const TappedVectors& taken) override {
    calls += fmt::format("{}:{} ", taken.layer, taken.document->index);
    EXPECT_TRUE(at::equal(taken.positions->tensor(), at::arange(taken["q"].size(1))));
    at_point[std::string(taken.point)].q[{taken.layer, taken.document->index}] = taken["q"].clone();
    at_point[std::string(taken.point)].k[{taken.layer, taken.document->index}] = taken["k"].clone();
    q[{taken.layer, taken.document->index}] = taken["q"].clone();
    k[{taken.layer, taken.document->index}] = taken["k"].clone();
  }

  using Key = std::pair<int64_t, int64_t>;
  std::string calls;
  std::map<Key, at::Tensor> q;
  std::map<Key, at::Tensor> k;
  struct PointVectors {
    std::map<Key, at::Tensor> q;
    std::map<Key, at::Tensor> k;
  };
  std::map<std::string, PointVectors> at_point;

 private:
  std::vector<int64_t> layers_;
  std::vector<std::string> points_;
};

class ForwardTest : public testing::Test {
 protected:
  ForwardTest() : opened_(tiny_.open()) {}

  void run(VectorRecorder& recorder, int64_t last, const std::vector<Document>& documents,
           int64_t memory = kPlentyOfMemory) {
    ForwardOptions options;
    options.memory = memory;
    options.group = group_;
    options.progress = [this](int64_t, int64_t tokens) { progress_ += tokens; };
    options.after_group = [&](int64_t count) { recorder.calls += fmt::format("group{} ", count); };
    const WeightReader reader = opened_.reader({last});
    Observer* const observers[] = {&recorder};
    run_forward(opened_.model.config, reader, documents, observers, options);
  }

  // The smallest budget for one document of `tokens`.
  int64_t least_memory(int64_t last, int64_t tokens) {
    const WeightReader reader = opened_.reader({last});
    return reader.layer_bytes(0) + tokens * 16 * 4;
  }

  TinyCheckpoint tiny_;
  TinyCheckpoint::Opened opened_;
  int64_t group_ = 0;
  int64_t progress_ = 0;
};

inline void expect_same_vectors(const VectorRecorder& a, const VectorRecorder& b) {
  ASSERT_EQ(a.q.size(), b.q.size());
  for (const auto& [key, tensor] : a.q) {
    EXPECT_TRUE(at::equal(tensor, b.q.at(key)))
        << "q of layer " << key.first << ", document " << key.second;
    EXPECT_TRUE(at::equal(a.k.at(key), b.k.at(key))) << "k of layer " << key.first;
  }
}

}  // namespace ropewalk
