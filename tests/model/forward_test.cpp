#include "ropewalk/model/forward.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/model/layer.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/model/vector_recorder.h"

namespace ropewalk {
namespace {

TEST_F(ForwardTest, LayerByLayerWithinAGroup) {
  VectorRecorder all({0, 1, 2});
  run(all, 2, tiny_documents({5, 3}));
  EXPECT_EQ(all.calls, "0:0 0:1 1:0 1:1 2:0 2:1 group2 ");
  EXPECT_EQ(all.q.at({0, 1}).sizes(), (std::vector<int64_t>{4, 3, 6}));
  EXPECT_EQ(all.k.at({2, 0}).sizes(), (std::vector<int64_t>{2, 5, 6}));
  EXPECT_EQ(progress_, 3 * (5 + 3));
}

TEST_F(ForwardTest, OnlyWhatIsWanted) {
  VectorRecorder middle({1});
  run(middle, 2, tiny_documents({5, 3}));
  EXPECT_EQ(middle.calls, "1:0 1:1 group2 ");
  VectorRecorder nothing({});
  run(nothing, 2, tiny_documents({5, 3}));
  EXPECT_EQ(nothing.calls, "group2 ");
  VectorRecorder no_documents({0});
  run(no_documents, 2, {});
  EXPECT_EQ(no_documents.calls, "");
}

TEST_F(ForwardTest, GroupsDoNotChangeTheArithmetic) {
  const auto documents = tiny_documents({5, 9, 3, 9});
  VectorRecorder together({0, 1, 2});
  run(together, 2, documents);
  VectorRecorder apart({0, 1, 2});
  run(apart, 2, documents, least_memory(2, 9));
  EXPECT_EQ(std::count(apart.calls.begin(), apart.calls.end(), 'g'), 4) << apart.calls;
  expect_same_vectors(together, apart);
  VectorRecorder streamed({0, 1, 2});
  run(streamed, 2, documents, least_memory(2, 9) + 16 * 4 * 9);
  EXPECT_LT(std::count(streamed.calls.begin(), streamed.calls.end(), 'g'), 4) << streamed.calls;
  expect_same_vectors(together, streamed);
}

TEST_F(ForwardTest, SaysWhenAGroupIsDone) {
  group_ = 2;
  VectorRecorder all({1});
  run(all, 1, tiny_documents({5, 3, 4}));
  EXPECT_EQ(all.calls, "1:0 1:1 group2 1:2 group3 ");
}

TEST_F(ForwardTest, DocumentsDoNotMeet) {
  const auto documents = tiny_documents({5, 9});
  VectorRecorder together({0, 2});
  run(together, 2, documents);
  VectorRecorder second({0, 2});
  run(second, 2, {documents[1]});
  EXPECT_TRUE(at::equal(together.q.at({2, 1}), second.q.at({2, 1})));
}

TEST_F(ForwardTest, AnEarlierEndChangesNothingBeforeIt) {
  const auto documents = tiny_documents({7});
  VectorRecorder all({0, 1});
  run(all, 2, documents);
  VectorRecorder early({0, 1});
  run(early, 1, documents);
  expect_same_vectors(all, early);
}

TEST_F(ForwardTest, TokensSeeOnlyThePast) {
  auto documents = tiny_documents({8});
  VectorRecorder whole({2});
  run(whole, 2, documents);
  documents[0].tokens[7] = (documents[0].tokens[7] + 1) % 20;
  VectorRecorder changed({2});
  run(changed, 2, documents);
  const at::Tensor difference = (whole.q.at({2, 0}) - changed.q.at({2, 0})).abs().amax({0, 2});
  EXPECT_EQ(difference.slice(0, 0, 7).max().item<double>(), 0);
  EXPECT_GT(element(difference, 7), 1e-3);
}

// q and k of layer 0, computed step by step in float64: embedding, RMSNorm, projection, rotation.
TEST_F(ForwardTest, FirstLayerWrittenOut) {
  const auto documents = tiny_documents({9});
  VectorRecorder recorder({0});
  run(recorder, 0, documents);
  const auto weight = [&](const char* name) { return tiny_.tensors.at(name).to(at::kDouble); };
  const at::Tensor table = weight("model.embed_tokens.weight");
  for (int64_t t = 0; t < 9; ++t) {
    const at::Tensor x = table.select(0, documents[0].tokens[static_cast<size_t>(t)]);
    const at::Tensor input =
        x / (x.square().mean() + 1e-5).sqrt() * weight("model.layers.0.input_layernorm.weight");
    const at::Tensor q = weight("model.layers.0.self_attn.q_proj.weight").mv(input);
    for (int64_t head = 0; head < 4; ++head) {
      for (int64_t i = 0; i < 3; ++i) {
        const double a = element(q, head * 6 + i);
        const double b = element(q, head * 6 + i + 3);
        const double angle =
            static_cast<double>(t) * std::pow(10000.0, -2.0 * static_cast<double>(i) / 6);
        const at::Tensor& got = recorder.q.at({0, 0});
        EXPECT_NEAR(element(got, head, t, i), a * std::cos(angle) - b * std::sin(angle), 1e-5);
        EXPECT_NEAR(element(got, head, t, i + 3), b * std::cos(angle) + a * std::sin(angle), 1e-5);
      }
    }
  }
}

TEST_F(ForwardTest, SeveralPointsOfOnePass) {
  const auto documents = tiny_documents({9});
  VectorRecorder recorder({0, 1}, {kPostRope, kPreNorm, kPreRope});
  run(recorder, 1, documents);
  EXPECT_EQ(recorder.calls, "0:0 0:0 0:0 1:0 1:0 1:0 group1 ");
  VectorRecorder::PointVectors& raw = recorder.at_point.at(kPreNorm);
  VectorRecorder::PointVectors& before = recorder.at_point.at(kPreRope);
  VectorRecorder::PointVectors& after = recorder.at_point.at(kPostRope);
  EXPECT_TRUE(at::equal(raw.q.at({0, 0}), before.q.at({0, 0}))) << "this model has no q/k norm";
  const RopeTable table = make_rope_table(opened_.model.config.ropes[0], 9, at::kCPU);
  for (const int64_t layer : {0, 1}) {
    EXPECT_FALSE(at::equal(before.k.at({layer, 0}), after.k.at({layer, 0})));
    rotate_(before.q.at({layer, 0}), before.k.at({layer, 0}), table.cos, table.sin, false);
    EXPECT_TRUE(at::equal(before.q.at({layer, 0}), after.q.at({layer, 0})));
    EXPECT_TRUE(at::equal(before.k.at({layer, 0}), after.k.at({layer, 0})));
  }
}

TEST_F(ForwardTest, ATapThatCanNeverFireIsRefusedBeforeAnythingIsComputed) {
  const auto refused = [&](const Tap& tap, int64_t from = 0) {
    class RequestingObserver : public Observer {
     public:
      RequestingObserver(Tap tap, int64_t from) : tap_(std::move(tap)), from_(from) {}
      std::vector<Tap> taps(int64_t layer) const override {
        return layer < from_ ? std::vector<Tap>{} : std::vector{tap_};
      }
      void on_vectors(const TappedVectors&) override {}

     private:
      Tap tap_;
      int64_t from_;
    } asks(tap, from);
    ForwardOptions options;
    options.memory = kPlentyOfMemory;
    progress_ = 0;
    options.progress = [this](int64_t, int64_t tokens) { progress_ += tokens; };
    const WeightReader reader = opened_.reader({1});
    try {
      Observer* const observers[] = {&asks};
      run_forward(opened_.model.config, reader, tiny_documents({9}), observers, options);
      return std::string();
    } catch (const UsageError& error) {
      EXPECT_EQ(progress_, 0);
      return std::string(error.what());
    }
  };
  EXPECT_EQ(refused({kPostRope, "k"}), "");
  EXPECT_EQ(refused({"after-lunch", "q"}),
            "the tap 'after-lunch q' of layer 0 can never fire: points are pre-norm, pre-rope, "
            "post-rope");
  EXPECT_EQ(refused({kPostRope, "w"}),
            "the tap 'post-rope w' of layer 0 can never fire: vectors are q, k, v");
  EXPECT_EQ(refused({kPostRope, "v"}),
            "the tap 'post-rope v' of layer 1 can never fire: only its queries and keys are "
            "computed");
  EXPECT_EQ(refused({kPostRope, "k"}, 2),
            "an observer wants layer 2 only, but the pass ends with layer 1");
  opened_.model.config.layers[1].self_attention = false;
  EXPECT_EQ(refused({kPostRope, "k"}),
            "the tap 'post-rope k' of layer 1 can never fire: the layer has no self-attention");
}

// Records the outputs of the layers that it names.
class HiddenRecorder : public Observer {
 public:
  explicit HiddenRecorder(std::vector<int64_t> layers) : layers_(std::move(layers)) {}
  bool wants_hidden(int64_t layer) const override {
    return std::find(layers_.begin(), layers_.end(), layer) != layers_.end();
  }
  void on_hidden(const HiddenStates& hidden) override {
    rows[{hidden.layer, hidden.document->index}] = hidden.rows.clone();
  }
  std::map<std::pair<int64_t, int64_t>, at::Tensor> rows;

 private:
  std::vector<int64_t> layers_;
};

TEST_F(ForwardTest, SeveralWatchOnePass) {
  const auto documents = tiny_documents({5, 9});
  VectorRecorder alone({0, 2});
  run(alone, 2, documents);
  VectorRecorder vectors({0, 2}), raw({1}, {kPreNorm});
  HiddenRecorder hidden({0, 1});
  Observer* const observers[] = {&vectors, &raw, &hidden};
  ForwardOptions options;
  options.memory = kPlentyOfMemory;
  const WeightReader reader = opened_.reader({2});
  run_forward(opened_.model.config, reader, documents, observers, options);
  EXPECT_EQ(vectors.calls + "group2 ", alone.calls);
  expect_same_vectors(vectors, alone);
  EXPECT_EQ(raw.calls, "1:0 1:1 ");
  ASSERT_EQ(hidden.rows.size(), 4U);
  // The next layer's queries are computed from it.
  const LayerWeights weights = reader.load(2);
  Projection made = project(opened_.model.config, weights, hidden.rows.at({1, 1}));
  const RopeTable table = make_rope_table(opened_.model.config.ropes[0], 9, at::kCPU);
  apply_position(opened_.model.config, opened_.model.config.layers[2], &table, made, false);
  EXPECT_LT((made.q - vectors.q.at({2, 1})).abs().max().item<double>(), 1e-5);
}

TEST_F(ForwardTest, GoesAsFarAsTheCallerSays) {
  const auto documents = tiny_documents({5, 9});
  ForwardOptions options;
  options.memory = kPlentyOfMemory;
  const auto after_layer_1 = [&](const Extent& extent) {
    HiddenRecorder hidden({1});
    Observer* const observers[] = {&hidden};
    const WeightReader reader = opened_.reader(extent);
    run_forward(opened_.model.config, reader, documents, observers, options);
    return hidden.rows;
  };
  const auto longer = after_layer_1({2});
  const auto whole = after_layer_1({1, Needed::layer});
  ASSERT_EQ(whole.size(), 2U);
  for (const auto& [key, rows] : whole) EXPECT_TRUE(at::equal(rows, longer.at(key)));
  try {
    after_layer_1({1, Needed::qk});
    FAIL() << "nothing leaves the layer";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "layer 1 has no output: only its queries and keys are computed");
  }
}

// Joins all logits of a document from its pieces.
class LogitsRecorder : public Observer {
 public:
  bool wants_logits() const override { return true; }
  void on_logits(const Logits& logits) override {
    std::vector<at::Tensor>& parts = rows[logits.document->index];
    int64_t there = 0;
    for (const at::Tensor& part : parts) there += part.size(0);
    EXPECT_EQ(logits.begin, there);
    parts.push_back(logits.rows.clone());
  }
  std::map<int64_t, std::vector<at::Tensor>> rows;
};

TEST_F(ForwardTest, EndsInLogits) {
  tiny_.add_head();
  opened_ = tiny_.open();
  const auto documents = tiny_documents({5, 9});
  LogitsRecorder logits;
  HiddenRecorder hidden({2});
  Observer* const observers[] = {&logits, &hidden};
  ForwardOptions options;
  options.memory = kPlentyOfMemory;
  options.progress = [this](int64_t, int64_t tokens) { progress_ += tokens; };
  const WeightReader reader = opened_.reader({2, Needed::head});
  run_forward(opened_.model.config, reader, documents, observers, options);
  EXPECT_EQ(progress_, 4 * (5 + 9)) << "the head is a stage";
  for (const int64_t document : {0, 1}) {
    const at::Tensor x = hidden.rows.at({2, document});
    const at::Tensor scale = (x.square().mean(1, true) + 1e-5).rsqrt();
    const at::Tensor expected = at::matmul(x * scale * tiny_.tensors.at("model.norm.weight"),
                                           tiny_.tensors.at("lm_head.weight").t());
    const at::Tensor found = at::cat(logits.rows.at(document));
    EXPECT_LT((found - expected).abs().max().item<double>(), 1e-4);
  }
}

TEST_F(ForwardTest, LogitsNeedAHead) {
  LogitsRecorder logits;
  Observer* const observers[] = {&logits};
  ForwardOptions options;
  options.memory = kPlentyOfMemory;
  const WeightReader reader = opened_.reader({2});
  EXPECT_THROW(run_forward(opened_.model.config, reader, tiny_documents({5}), observers, options),
               UsageError);
}

TEST_F(ForwardTest, SaysWhenTheBudgetIsTooSmall) {
  VectorRecorder recorder({0});
  EXPECT_THROW(run(recorder, 2, tiny_documents({9}), least_memory(2, 9) - 1), UsageError);
}

}  // namespace
}  // namespace ropewalk
