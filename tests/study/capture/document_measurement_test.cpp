#include "ropewalk/study/capture/document_measurement.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "tests/study/tiny_open_model.h"

namespace ropewalk {
namespace {

// Fails once, after this many documents.
class FailingObserver : public Observer {
 public:
  explicit FailingObserver(int left) : left_(left) {}
  bool wants_logits() const override { return true; }
  void on_logits(const Logits&) override {
    if (--left_ == 0) throw InputError("the power is gone");
  }

 private:
  int left_;
};

class DocumentMeasurementTest : public testing::Test {
 protected:
  DocumentMeasurementTest() : documents_(tiny_documents(std::vector<int64_t>(20, 12))) {
    model_ = open_tiny_model(tiny_, 12, int64_t{1} << 24);
    weights_.emplace(model_.weights());
  }

  MeasurementSetting setting() const {
    return {.model = model_,
            .weights = *weights_,
            .documents = documents_,
            .title = "test",
            .label = "tiny"};
  }

  // Moments and losses of a measurement, optionally with a further observer.
  struct MeasuredStudy {
    std::vector<DocumentValues> losses;
    std::vector<at::Tensor> moments;
    CaptureInfo info;
  };
  MeasuredStudy measure(const std::filesystem::path& state = {}, Observer* other = nullptr) const {
    const CollectorOptions options{.blocks = 4, .context = 12, .documents = 20};
    MomentsCollector moments(model_.text.config, model_.heads, options);
    LossCollector loss(12);
    DocumentMeasurement measurement(setting());
    measurement.reserve(moments_bytes(model_.text.config, model_.heads, options).all);
    measurement.collect(moments);
    measurement.collect(loss);
    if (other != nullptr) measurement.collect(*other);
    if (!state.empty()) measurement.resume(state, [] { return Json{{"of", "this test"}}; });
    measurement.run();
    MeasuredStudy measured;
    measured.losses = measurement.join(measured.info);
    for (const auto& [number, layer] : moments.layers()) {
      for (const auto& fields : layer.fields) {
        for (const at::Tensor& field : fields) measured.moments.push_back(field.clone());
      }
    }
    return measured;
  }

  TinyCheckpoint tiny_;
  TemporaryFolder folder_;
  std::vector<Document> documents_;
  OpenModel model_;
  std::optional<WeightReader> weights_;
};

void expect_same(const std::vector<at::Tensor>& some, const std::vector<at::Tensor>& others) {
  ASSERT_EQ(some.size(), others.size());
  for (size_t i = 0; i < some.size(); ++i) EXPECT_TRUE(at::equal(some[i], others[i])) << i;
}

TEST_F(DocumentMeasurementTest, CollectsWhatItIsTold) {
  const MeasuredStudy measured = measure();
  ASSERT_EQ(measured.losses.size(), 1U);
  EXPECT_EQ(measured.losses[0].name, kLossName);
  EXPECT_EQ(measured.losses[0].values.sizes(), (std::vector<int64_t>{20, loss_bins(12)}));
  EXPECT_EQ(measured.info.weights, weights_->digest(model_.measured()));
  EXPECT_EQ(measured.info.head_weights, weights_->digest_beyond(model_.measured()));
  EXPECT_GT(measured.info.seconds, 0);
}

TEST_F(DocumentMeasurementTest, PiecesOfTextsSayWhichTheyAreOf) {
  LossCollector loss(12);
  MeasurementSetting pieces = setting();
  pieces.pieces = true;
  documents_[3].cluster = 7;
  DocumentMeasurement measurement(pieces);
  measurement.collect(loss);
  measurement.run();
  CaptureInfo info;
  const auto values = measurement.join(info);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[1].name, kClusterName);
  EXPECT_EQ(values[1].values[3].item<double>(), 7);
}

TEST_F(DocumentMeasurementTest, GoesOnFromWhereItStopped) {
  const std::filesystem::path state = folder_.path() / ".state";
  FailingObserver failing(13);  // in the second group of eight
  try {
    measure(state, &failing);
    FAIL() << "it went on";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "'tiny': the power is gone");
  }
  ASSERT_TRUE(std::filesystem::exists(state));
  FailingObserver later(13);  // twelve documents are left
  const MeasuredStudy resumed = measure(state, &later);
  const MeasuredStudy straight = measure();
  expect_same(resumed.moments, straight.moments);
  EXPECT_TRUE(at::equal(resumed.losses[0].values, straight.losses[0].values));
}

TEST_F(DocumentMeasurementTest, WaitsForWhatHasNoRoomBeside) {
  int waited = 0;
  MeasurementSetting one = setting();
  one.pending = {1000, [&] { ++waited; }};
  DocumentMeasurement(one).reserve(1000);
  EXPECT_EQ(waited, 0);
  one.pending.bytes = model_.memory / 4;
  DocumentMeasurement(one).reserve(1000);
  EXPECT_EQ(waited, 1);
  DocumentMeasurement(setting()).reserve(1000);
  EXPECT_EQ(waited, 1) << "nothing is being written";
}

TEST_F(DocumentMeasurementTest, WhatIsReservedIsNotSpent) {
  LossCollector loss(12);
  DocumentMeasurement measurement(setting());
  measurement.collect(loss);
  measurement.reserve(model_.memory);
  EXPECT_THROW(measurement.run(), UsageError);
}

}  // namespace
}  // namespace ropewalk
