#include "ropewalk/moments/accumulators/lags.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/accumulators/pre_rope.h"

namespace ropewalk {
namespace {

constexpr int64_t kSingleDistances = 7;  // the last version of them

void require_consecutive(const Positions& positions) {
  if (positions.consecutive()) return;
  const at::Tensor& t = positions.tensor();
  throw UsageError("lags want positions that follow each other, as {}, {}, …", t[0].item<int64_t>(),
                   t[0].item<int64_t>() + 1);
}

class Lags : public Accumulator {
 public:
  std::string name() const override { return "lags"; }
  int64_t numerics() const override { return kSingleDistances + 1; }
  bool reads(int64_t earlier) const override { return earlier <= numerics(); }

  std::vector<Tap> taps(const CaptureShape& shape) const override {
    if (capture_windows(shape).empty()) return {};
    return {{kPostRope, "q"}, {kPostRope, "k"}};
  }

  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    const auto width = static_cast<int64_t>(capture_windows(shape).size());
    if (width == 0) return {};
    std::vector<KeptField> kept{{"sum", StreamKind::query, width}};
    if (single_distances(shape)) kept.push_back({"squares", StreamKind::query, width});
    kept.push_back({"count", StreamKind::query, width});
    return kept;
  }

  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    const Positions::Parts& tokens = taken.positions->parts(kFirstTokens);
    if (tokens.after->tokens() == 0) return;
    require_consecutive(*taken.positions);
    const std::vector<DistanceWindow> windows =
        distance_windows(to.context, to.window, kFirstTokens);
    const bool on_gpu = to.q_heads.defined();
    const LagHeads heads{on_gpu ? to.q_heads : at::tensor(to.streams.q_heads, at::kLong),
                         on_gpu ? to.kv_heads : at::tensor(to.streams.kv_heads, at::kLong)};
    const auto numbers = [&](size_t i) {
      return to.block.numbers[i].narrow(1, 0, static_cast<int64_t>(windows.size()));
    };
    const auto late = [&](const at::Tensor& x) {
      return tokens.late_of(x.scalar_type() == at::kDouble ? x.to(at::kFloat) : x);
    };
    add_lag_sums(late(taken["q"]), late(taken["k"]), heads, windows, {numbers(0), numbers(1)});
  }

  void combine(const BlockFields& whole, const BlockFields& part) const override {
    for (size_t i = 0; i < whole.numbers.size(); ++i) whole.numbers[i].add_(part.numbers[i]);
  }

  int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType,
                    const at::Device& device) const override {
    return lag_sums_workspace(config.n_q_heads, config.n_kv_heads, tokens, config.d_head, device);
  }
};

// As earlier versions had them.
std::vector<DistanceWindow> single_windows(int64_t end) {
  std::vector<DistanceWindow> windows;
  const auto add = [&](int64_t at) {
    if (at < end) windows.push_back({at, at + 1});
  };
  for (int64_t at = 0; at < 4; ++at) add(at);
  for (int64_t power = 4; power < end; power *= 2) {
    add(power);
    add(power + power / 2);
  }
  return windows;
}

}  // namespace

const Accumulator& lags() {
  static const Lags kAccumulator;
  return kAccumulator;
}

bool single_distances(const CaptureShape& shape) {
  const auto known = shape.numerics.find(lags().name());
  return known != shape.numerics.end() && known->second <= kSingleDistances;
}

std::vector<DistanceWindow> capture_windows(const CaptureShape& shape,
                                            std::optional<int64_t> sliding) {
  if (shape.point != kPostRope || !shape.keep.lags) return {};
  if (single_distances(shape)) return single_windows(shape.context - kFirstTokens);
  return distance_windows(shape.context, sliding, kFirstTokens);
}

}  // namespace ropewalk
