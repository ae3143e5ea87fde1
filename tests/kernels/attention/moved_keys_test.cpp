// Whether a row's logits hang on places or on keys, of made ones.
#include "ropewalk/kernels/attention/moved_keys.h"

#include <gtest/gtest.h>

#include "ropewalk/kernels/attention/moved_keys_cpu.h"
#include "ropewalk/kernels/attention/row_numbers.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

using Row = RowNumber;

// Place and key alone (SCIENCE: 1 and 0, 0 and 1, 0 and 0).
TEST(MovedKeys, TellPlaceFromKey) {
  struct Made {
    const char* name;
    double positional, symbolic;
    bool slopes, constant;
    std::vector<int64_t> varying;  // dimensions of keys before RoPE
  };
  const std::vector<double> theta{1, 0.3, 0.1, 1e-6};  // the last does not turn in 1,000 tokens
  const auto pairs = static_cast<int64_t>(theta.size());
  constexpr int64_t kTokens = 1000, kSize = 12;
  const at::Tensor turns =
      at::arange(kTokens, at::kDouble).unsqueeze(1) * at::tensor(theta, at::kDouble);
  for (const Made& made : {Made{"constant keys", 1, 0, false, true, {}},
                           Made{"constant keys, ALiBi", 1, 0, true, true, {}},
                           Made{"what does not turn", 0, 1, false, false, {8, 9, 10, 11}},
                           Made{"what turns slowly", 0, 1, false, false, {3, 7}},
                           Made{"the fastest pairs", 0, 0, false, false, {0, 1, 4, 5}}}) {
    QueryRows rows;
    for (int64_t t = 40; t < kTokens; t += 30) rows.t.push_back(t);
    at::Tensor k = made.constant
                       ? random_tensor({2, 1, kSize}, 5).expand({2, kTokens, kSize}).clone()
                       : at::zeros({2, kTokens, kSize});
    for (const int64_t dimension : made.varying) {
      k.select(2, dimension).copy_(random_tensor({2, kTokens}, static_cast<uint64_t>(dimension)));
    }
    at::Tensor q = random_tensor({2, kTokens, kSize}, 6);
    if (!made.slopes) {
      rows.cos = turns.cos().to(at::kFloat);
      rows.sin = turns.sin().to(at::kFloat);
      for (at::Tensor* x : {&q, &k}) {
        const at::Tensor a = x->narrow(2, 0, pairs).clone(), b = x->narrow(2, pairs, pairs).clone();
        x->narrow(2, 0, pairs).copy_(a * rows.cos - b * rows.sin);
        x->narrow(2, pairs, pairs).copy_(b * rows.cos + a * rows.sin);
      }
    } else {
      rows.scores.slopes = at::tensor({0.5F, 0.01F});
    }
    rows.q = q.index_select(1, at::tensor(rows.t, at::kLong));
    rows.k = k;
    rows.kv = {0, 1};
    rows.tokens = at::zeros({kTokens}, at::kInt);
    rows.seed = 3;
    const at::Tensor found = row_numbers(rows, distance_parts(kTokens)).numbers.sum(1);
    const auto mean = [&](int64_t column) {
      return (found.select(1, column) / found.select(1, Row::moved_rows)).mean().item<double>();
    };
    EXPECT_NEAR(mean(Row::positional), made.positional, 0.05) << made.name;
    EXPECT_NEAR(mean(Row::symbolic), made.symbolic, 0.05) << made.name;
  }
}

// Rows far enough on that keys move in runs, of all kinds of layers.
TEST(MovedKeys, LoopsAgreeWithOperations) {
  struct Layer {
    const char* name;
    std::vector<int64_t> kv{0, 0, 0, 1, 1, 1};
    int64_t pairs = 8;  // of 10; 0: no RoPE
    bool interleaved = false, slopes = false;
    std::optional<int64_t> window = {};
  };
  constexpr int64_t kTokens = 700, kSize = 20;
  for (const Layer& layer :
       {Layer{"rope"}, Layer{"all pairs", {0, 1}, 10, true},
        Layer{"heads of one KV head", {1, 1, 1, 1, 1}},
        Layer{"window", {0, 1, 1}, 8, false, false, 333},
        Layer{"alibi", {0, 0, 1, 1}, 0, false, true}, Layer{"both", {0, 0, 1, 1}, 8, true, true}}) {
    const auto heads = static_cast<int64_t>(layer.kv.size());
    QueryRows rows;
    rows.t = {520, 521, 600, kTokens - 1};
    rows.q = random_tensor({heads, 4, kSize}, 1);
    rows.k = random_tensor({2, kTokens, kSize}, 2);
    rows.kv = layer.kv;
    rows.scores = {.scale = 0.3, .window = layer.window};
    if (layer.slopes) rows.scores.slopes = alibi_slopes(heads);
    if (layer.pairs > 0) {
      const at::Tensor theta = at::exp(-at::arange(layer.pairs, at::kDouble));
      const at::Tensor turns = at::arange(kTokens, at::kDouble).unsqueeze(1) * theta;
      rows.cos = (turns.cos() * 1.25).to(at::kFloat);
      rows.sin = (turns.sin() * 1.25).to(at::kFloat);
    }
    rows.interleaved = layer.interleaved;
    rows.seed = 5;
    rows.columns = key_columns(rows.k);
    UncappedRows logits{0, 4, rows.first_seen(rows.t[0]), {}, {}};
    const at::Tensor keys = at::arange(logits.from, kTokens);
    const at::Tensor t = at::tensor(rows.t, at::kLong).unsqueeze(1);
    at::Tensor seen = keys.le(t).logical_and_(keys.ge(QueryRows::kFirstKey));
    if (layer.window) seen.logical_and_((t - keys).lt(*layer.window));
    logits.seen = seen.to(at::kFloat);
    logits.logits = random_tensor({heads, 4, keys.size(0)}, 3) + 2;
    const MovedKeys loops = move_keys_cpu(rows, logits);
    const MovedKeys operations = move_keys_by_operations(rows, logits);
    EXPECT_TRUE(loops.known.eq(1).all().item<bool>()) << layer.name;
    EXPECT_TRUE(at::allclose(loops.positional, operations.positional, 0, 1e-5)) << layer.name;
    EXPECT_TRUE(at::allclose(loops.symbolic, operations.symbolic, 0, 1e-5)) << layer.name;
    EXPECT_GT(loops.positional.std().item<double>(), 1e-3) << layer.name;
  }
}

}  // namespace
}  // namespace ropewalk
