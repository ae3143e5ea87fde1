#include "ropewalk/kernels/attention/edited_attention.h"

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

// The output for one query of a head, number by number, in float64.
at::Tensor plain_row(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int64_t head,
                     int64_t query, const ScoreOptions& options, const ScoreChange& change) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
  std::vector<double> scores;
  std::vector<int64_t> keys;
  for (int64_t key = 0; key <= query; ++key) {
    const int64_t distance = query - key;
    if (options.window && distance >= *options.window) continue;
    if (change.within && key >= change.first && distance > *change.within) continue;
    double score = at::dot(wide(q[head][query]), wide(k[head][key])).item<double>() * options.scale;
    if (options.slopes.defined()) score -= element(options.slopes, head) * distance;
    scores.push_back(score);
    keys.push_back(key);
  }
  if (change.by_distance.defined()) {
    double mean = 0, before = 0, after = 0;
    int64_t count = 0;
    const auto taken = [&](size_t i) { return element(change.by_distance, head, query - keys[i]); };
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] < change.first) continue;
      mean += taken(i);
      before += std::exp(scores[i]);
      ++count;
    }
    mean /= static_cast<double>(count);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] >= change.first) after += std::exp(scores[i] - (taken(i) - mean));
    }
    const double shift = change.keep_mass ? std::log(before) - std::log(after) : 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] >= change.first) scores[i] += shift - (taken(i) - mean);
    }
  }
  if (options.cap) {
    for (double& score : scores) score = *options.cap * std::tanh(score / *options.cap);
  }
  if (options.sinks.defined()) scores.push_back(element(options.sinks, head));
  const at::Tensor shares = at::softmax(at::tensor(scores, at::kDouble), 0);
  at::Tensor out = at::zeros({v.size(2)}, at::kDouble);
  for (size_t i = 0; i < keys.size(); ++i) {
    out += shares[static_cast<int64_t>(i)] * wide(v[head][keys[i]]);
  }
  return out;
}

double worst(const ScoreOptions& options, const ScoreChange& change, int64_t tokens) {
  const at::Tensor q = random_tensor({3, tokens, 6}, 1);
  const at::Tensor k = random_tensor({3, tokens, 6}, 2);
  const at::Tensor v = random_tensor({3, tokens, 6}, 3);
  const at::Tensor found = edited_attention(q, k, v, options, change);
  EXPECT_EQ(found.sizes(), (std::vector<int64_t>{tokens - change.first, 3, 6}));
  double worst = 0;
  for (int64_t head = 0; head < 3; ++head) {
    for (int64_t query = change.first; query < tokens; ++query) {
      const at::Tensor expected = plain_row(q, k, v, head, query, options, change);
      const at::Tensor gap = found[query - change.first][head].to(at::kDouble) - expected;
      worst = std::max(worst, gap.abs().max().item<double>());
    }
  }
  return worst;
}

std::vector<ScoreOptions> options_of_models() {
  return {ScoreOptions{.scale = 0.4}, ScoreOptions{.scale = 0.4, .window = 9},
          ScoreOptions{.scale = 0.4, .window = 9, .cap = 0.7},
          ScoreOptions{.scale = 0.4, .slopes = alibi_slopes(3)},
          ScoreOptions{.scale = 0.4, .window = 11, .sinks = random_tensor({3}, 4)}};
}

TEST(EditedAttention, TakesWhatIsOwedToDistance) {
  const at::Tensor logits = 2 * random_tensor({3, 40}, 5).to(at::kDouble);
  for (const ScoreOptions& options : options_of_models()) {
    for (const bool keep_mass : {false, true}) {
      const ScoreChange change{.first = 4, .by_distance = logits, .keep_mass = keep_mass};
      EXPECT_LT(worst(options, change, 40), 1e-5) << keep_mass;
    }
  }
}

TEST(EditedAttention, SeesAWindow) {
  for (const ScoreOptions& options : options_of_models()) {
    EXPECT_LT(worst(options, {.first = 4, .within = 5}, 40), 1e-5);
  }
}

TEST(EditedAttention, MoreQueriesThanItTakesAtATime) {
  const at::Tensor logits = random_tensor({3, 700}, 5).to(at::kDouble);
  const ScoreChange change{.first = 4, .by_distance = logits, .keep_mass = true};
  EXPECT_LT(worst({.scale = 0.4, .window = 300}, change, 700), 1e-5);
}

TEST(EditedAttention, KeepsTheMassOfTheFirstKeys) {
  // Values that count the weight of the first keys: it must be the weight before the change.
  const at::Tensor q = random_tensor({1, 50, 6}, 1), k = random_tensor({1, 50, 6}, 2);
  at::Tensor v = at::zeros({1, 50, 1});
  v.slice(1, 0, 4).fill_(1);
  const at::Tensor logits = 3 * random_tensor({1, 50}, 3).to(at::kDouble);
  const ScoreOptions options{.scale = 0.5};
  const at::Tensor before = edited_attention(q, k, v, options, {.first = 4});
  const auto after = [&](bool keep_mass) {
    return edited_attention(q, k, v, options,
                            {.first = 4, .by_distance = logits, .keep_mass = keep_mass});
  };
  EXPECT_LT((after(true) - before).abs().max().item<double>(), 1e-6);
  EXPECT_GT((after(false) - before).abs().max().item<double>(), 1e-2);
}

}  // namespace
}  // namespace ropewalk
