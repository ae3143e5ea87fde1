#include "ropewalk/moments/document_values.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

TEST(DocumentValues, AreJoinedByIndexAndNeverAdded) {
  const at::Tensor a = random_tensor({2, 3}, 1).to(at::kDouble);
  const at::Tensor b = random_tensor({1, 3}, 2).to(at::kDouble);
  std::vector<DocumentValues> whole{{"loss", a}, {"rows", a}};
  join_values(whole, {{"loss", b}}, {0, 2, 1});
  ASSERT_EQ(whole.size(), 1U) << "what one of them lacks the whole lacks";
  EXPECT_TRUE(at::equal(whole[0].values, at::stack({a[0], b[0], a[1]})));
  const DocumentValues wider{"loss", at::zeros({1, 4}, at::kDouble)};
  EXPECT_THROW(join_values(whole, {wider}, {0, 1, 2, 3}), InputError);
}

TEST(LossCollector, BinsDouble) {
  EXPECT_EQ(loss_bins(1), 0);
  EXPECT_EQ(loss_bins(2), 1);
  EXPECT_EQ(loss_bins(3), 2);
  EXPECT_EQ(loss_bins(1024), 11);
  EXPECT_EQ(loss_bins(1025), 11);
  EXPECT_EQ(loss_bins(1026), 12);
  for (int64_t position = 0; position < 1000; ++position) {
    const int64_t bin = position_bin(position);
    EXPECT_LE(bin_begin(bin), position);
    EXPECT_GT(bin_begin(bin + 1), position);
  }
}

// The values of a document's logits, passed in pieces of any size.
DocumentValues measured(const Document& document, const at::Tensor& logits, int64_t piece) {
  LossCollector collector(64);
  for (int64_t begin = 0; begin < logits.size(0); begin += piece) {
    const int64_t end = std::min(begin + piece, logits.size(0));
    collector.on_logits({&document, begin, logits.slice(0, begin, end)});
  }
  return collector.values(std::span(&document, 1));
}

TEST(LossCollector, SumsByPosition) {
  const Document document = tiny_documents({23}).front();
  const at::Tensor logits = random_tensor({23, 20}, 3);
  const at::Tensor targets = at::tensor(
      std::vector<int64_t>(document.tokens.begin() + 1, document.tokens.end()), at::kLong);
  const at::Tensor loss = -at::log_softmax(logits.slice(0, 0, 22), 1)
                               .gather(1, targets.unsqueeze(1))
                               .squeeze(1)
                               .to(at::kDouble);
  for (const int64_t piece : {1, 5, 16, 23}) {
    const DocumentValues found = measured(document, logits, piece);
    ASSERT_EQ(found.values.sizes(), (std::vector<int64_t>{1, 6 + 1}));
    EXPECT_NEAR(found.values[0][0].item<double>(), loss[0].item<double>(), 1e-5);
    EXPECT_NEAR(found.values[0][3].item<double>(), loss.slice(0, 4, 8).sum().item<double>(), 1e-5);
    EXPECT_NEAR(found.values.sum().item<double>(), loss.sum().item<double>(), 1e-4);
    EXPECT_EQ(found.values[0][6].item<double>(), 0);
  }
}

TEST(LossCollector, GoesOn) {
  const auto documents = tiny_documents({9, 12});
  LossCollector first(64);
  first.on_logits({&documents[0], 0, random_tensor({9, 20}, 4)});
  const std::vector<DocumentValues> saved{first.values(std::span(documents).first(1))};
  LossCollector second(64);
  second.restore(std::span(documents).first(1), saved);
  second.on_logits({&documents[1], 0, random_tensor({12, 20}, 5)});
  first.on_logits({&documents[1], 0, random_tensor({12, 20}, 5)});
  EXPECT_TRUE(at::equal(first.values(documents).values, second.values(documents).values));
}

TEST(LossCollector, NamesADocumentWhoseLossIsNotFinite) {
  const Document document = tiny_documents({5}).front();
  at::Tensor logits = random_tensor({5, 20}, 6);
  logits[2][7] = std::numeric_limits<float>::infinity();
  EXPECT_THROW(measured(document, logits, 5), InputError);
}

}  // namespace
}  // namespace ropewalk
