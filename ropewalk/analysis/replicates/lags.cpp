// What statistics read of logits by distance.

#include "ropewalk/moments/accumulators/lags.h"

#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk::parts_of {
namespace {

class LagParts : public KeptParts {
 public:
  explicit LagParts(const AnalyzedCapture& capture)
      : capture_(capture),
        single_(single_distances(shape_of(capture.moments.info, capture.moments.documents, 0))) {}

  std::any part(StreamKind kind, int64_t row) const override {
    if (kind == StreamKind::key) return {};
    constexpr double kRounding = 1e-6;  // blocks are rounded: what is left of a count may not be 0
    const auto kept = KeptFields::find(capture_.moments, ropewalk::lags(), kind);
    const auto field = [&](const char* name) {
      return field_replicates(*kept, name, row, capture_.blocks);
    };
    const at::Tensor count = field("count");
    const at::Tensor none = count <= count.slice(0, 0, 1) * kRounding;
    return std::make_shared<const LagReplicates>(
        LagReplicates{at::where(none, 0.0, field("sum")), at::where(none, 0.0, count), single_});
  }

 private:
  AnalyzedCapture capture_;
  bool single_;
};

}  // namespace

std::unique_ptr<KeptParts> lags(const AnalyzedCapture& capture) {
  return std::make_unique<LagParts>(capture);
}

}  // namespace ropewalk::parts_of
