#include "ropewalk/moments/accumulators/lags.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/moments/lags.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

void require_consecutive(const Positions& positions) {
  if (positions.consecutive()) return;
  const at::Tensor& t = positions.tensor();
  throw UsageError("lags want positions that follow each other, as {}, {}, …", t[0].item<int64_t>(),
                   t[0].item<int64_t>() + 1);
}

class Lags : public Accumulator {
 public:
  std::string name() const override { return "lags"; }
  int64_t numerics() const override { return 7; }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (capture_lags(shape).empty()) return {};
    return {{kPostRope, "q"}, {kPostRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    const auto width = static_cast<int64_t>(capture_lags(shape).size());
    if (width == 0) return {};
    return {{"sum", StreamKind::query, width},
            {"squares", StreamKind::query, width},
            {"count", StreamKind::query, width}};
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    const Positions::Parts& tokens = taken.positions->parts(kFirstTokens);
    const int64_t count = tokens.after->tokens();
    if (count == 0) return;
    require_consecutive(*taken.positions);
    // The longest lag may be missing where a document is longer than its capture's context.
    std::vector<int64_t> lags = lags_below(count);
    const int64_t width =
        std::min<int64_t>(static_cast<int64_t>(lags.size()), to.block.numbers[0].size(1));
    lags.resize(static_cast<size_t>(width));
    const bool on_gpu = to.q_heads.defined();
    const LagHeads heads{on_gpu ? to.q_heads : at::tensor(to.streams.q_heads, at::kLong),
                         on_gpu ? to.kv_heads : at::tensor(to.streams.kv_heads, at::kLong)};
    const auto numbers = [&](size_t i) { return to.block.numbers[i].narrow(1, 0, width); };
    const auto late = [&](const at::Tensor& x) {
      return tokens.late_of(x.scalar_type() == at::kDouble ? x.to(at::kFloat) : x);
    };
    add_lag_sums(late(taken["q"]), late(taken["k"]), heads, lags,
                 {numbers(0), numbers(1), numbers(2)});
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (size_t i = 0; i < whole.numbers.size(); ++i) whole.numbers[i].add_(part.numbers[i]);
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType,
                    const at::Device& device) const override {
    return lag_sums_workspace(config.n_q_heads, config.n_kv_heads, tokens, config.d_head, device);
  }
};

}  // namespace

const Accumulator& lags() {
  static const Lags kAccumulator;
  return kAccumulator;
}

std::vector<int64_t> capture_lags(const CaptureShape& shape) {
  if (shape.point != kPostRope) return {};
  return lags_below(shape.context - kFirstTokens);
}

}  // namespace ropewalk
