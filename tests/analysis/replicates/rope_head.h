#pragma once

#include <numeric>
#include <optional>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_distances.h"
#include "ropewalk/analysis/replicates/rope_source.h"
#include "ropewalk/analysis/replicates/turning.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {

// A head from documents of vectors before RoPE, [tokens, d] float64; each document is a block.
struct RopeHead {
  RopeLayer layer;
  double scale = 0.5;  // of logits
  double slope = 0;    // that they lose per token of distance
  std::vector<at::Tensor> q_before, k_before;

  size_t blocks() const { return q_before.size(); }

  // The vectors that attention sees.
  at::Tensor turned(const at::Tensor& before) const {
    const at::Tensor t = at::arange(before.size(0), at::kDouble);
    const at::Tensor angles = at::outer(t, layer.theta);
    const at::Tensor a = before.index_select(1, layer.first) * layer.factor;
    const at::Tensor b = before.index_select(1, layer.second) * layer.factor;
    at::Tensor after = before.clone();
    after.index_copy_(1, layer.first, a * angles.cos() - b * angles.sin());
    after.index_copy_(1, layer.second, a * angles.sin() + b * angles.cos());
    return after;
  }
  std::vector<at::Tensor> turned(const std::vector<at::Tensor>& before) const {
    std::vector<at::Tensor> after;
    for (const at::Tensor& x : before) after.push_back(turned(x));
    return after;
  }

  PreRopeReplicates sums(const std::vector<at::Tensor>& before) const {
    const auto cases = [&](const auto& of) {
      std::vector<at::Tensor> blocks;
      for (const at::Tensor& x : before) blocks.push_back(of(x));
      const at::Tensor parts = at::stack(blocks), total = parts.sum(0, true);
      return at::cat({total, total - parts});
    };
    const auto late = [](const at::Tensor& x) { return x.slice(0, kFirstTokens); };
    const auto first = [](const at::Tensor& x) { return x.slice(0, 0, kFirstTokens); };
    const auto count = [](const at::Tensor& x) {
      return at::full({}, static_cast<double>(x.size(0)), at::kDouble);
    };
    const auto modulus = [&](const at::Tensor& x) {
      return (x.index_select(1, layer.first).square() + x.index_select(1, layer.second).square())
          .sqrt();
    };
    return {cases([&](const at::Tensor& x) { return count(late(x)); }),
            cases([&](const at::Tensor& x) { return count(first(x)); }),
            cases([&](const at::Tensor& x) { return late(x).sum(0); }),
            cases([&](const at::Tensor& x) { return late(x).square().sum(0); }),
            cases([&](const at::Tensor& x) { return modulus(late(x)).sum(0); }),
            cases([&](const at::Tensor& x) { return first(x).sum(0); }),
            cases([&](const at::Tensor& x) { return first(x).square().sum(0); })};
  }

  LagReplicates lags() const {
    const auto width = static_cast<int64_t>(layer.windows.size());
    at::Tensor sum = at::zeros({static_cast<int64_t>(blocks()), width}, at::kDouble);
    at::Tensor count = at::zeros_like(sum);
    for (size_t i = 0; i < blocks(); ++i) {
      const at::Tensor q = turned(q_before[i]), k = turned(k_before[i]);
      for (int64_t j = 0; j < width; ++j) {
        const DistanceWindow& window = layer.windows[static_cast<size_t>(j)];
        for (int64_t t = kFirstTokens; t < q.size(0); ++t) {
          for (int64_t n = kFirstTokens; n <= t; ++n) {
            if (t - n < window.begin || t - n >= window.end) continue;
            const auto row = static_cast<int64_t>(i);
            sum[row][j] += q[t].dot(k[n]);
            count[row][j] += 1;
          }
        }
      }
    }
    const auto cases = [](const at::Tensor& parts) {
      const at::Tensor total = parts.sum(0, true);
      return at::cat({total, total - parts});
    };
    const at::Tensor left = cases(count);
    return {at::where(left > 0, cases(sum), 0.0), left};
  }

  // The layer with its distances, of these documents.
  RopeLayer with_distances(std::optional<int64_t> sliding = {}) const {
    RopeLayer known = layer;
    const auto context = static_cast<int64_t>(layer.context);
    LayerDistances distances;
    distances.windows = distance_windows(context, sliding, kFirstTokens);
    distances.pairs =
        pairs_by_distance(lengths(), all_blocks(), context, distances.windows.back().end);
    distances.span = std::min(context, sliding.value_or(context));
    set_distances(known, distances);
    return known;
  }
  DocumentLengths lengths() const {
    DocumentLengths found;
    for (const at::Tensor& x : q_before) {
      ++found.all[x.size(0)];
      found.of_block.push_back({{x.size(0), 1}});
    }
    return found;
  }
  std::vector<int64_t> all_blocks() const {
    std::vector<int64_t> every(blocks());
    std::iota(every.begin(), every.end(), 0);
    return every;
  }

  HeadReplicates cases() const {
    RopeLayer known = layer;
    known.queries = known.keys = mean_turn(layer.theta, lengths(), all_blocks(), nullptr);
    StreamInput q = stream_input(turned(q_before)), k = stream_input(turned(k_before));
    q.layer = k.layer = std::make_shared<const RopeLayer>(known);
    q.slope = slope;
    q.parts["pre_rope"] = std::make_shared<const PreRopeReplicates>(sums(q_before));
    k.parts["pre_rope"] = std::make_shared<const PreRopeReplicates>(sums(k_before));
    q.parts["lags"] = std::make_shared<const LagReplicates>(lags());
    return make_replicates(leave_one_out(q), leave_one_out(k), 2, {scale, layer.context});
  }
};

// Documents of different lengths around a mean; one has fewer tokens than are left out.
inline RopeHead made_rope_head(bool interleaved, bool turns, int64_t d = 10, int64_t rotary = 6) {
  RopeSettings rope;
  rope.theta = 50;
  rope.rotary_dim = rotary;
  rope.interleaved = interleaved;
  rope.type = RopeType::yarn;  // YaRN also scales by a factor
  rope.factor = 4;
  rope.original_context = 8;
  RopeHead head;
  head.layer = rope_layer(&rope, turns, d, 48);
  head.layer.context = 48;
  for (const int64_t tokens : {48, 30, 3, 41, 48}) {
    const at::Tensor t = at::arange(tokens, at::kDouble).unsqueeze(1) / 48;
    head.q_before.push_back(at::randn({tokens, d}, at::kDouble) + 1 + t);
    head.k_before.push_back(at::randn({tokens, d}, at::kDouble) * 0.5 - 1);
  }
  head.layer = head.with_distances();
  return head;
}

}  // namespace ropewalk
