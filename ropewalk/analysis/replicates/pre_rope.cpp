// The part of the accumulator pre_rope that statistics read.

#include "ropewalk/moments/accumulators/pre_rope.h"

#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk::parts_of {
namespace {

class PreRopeParts : public KeptParts {
 public:
  explicit PreRopeParts(const AnalyzedCapture& capture)
      : capture_(capture), tokens_(token_replicates(capture)) {}

  std::any part(StreamKind kind, int64_t row) const override {
    const auto kept = KeptFields::find(capture_.moments, ropewalk::pre_rope(), kind);
    const auto field = [&](const char* name) {
      return field_replicates(*kept, name, row, capture_.blocks);
    };
    auto found = std::make_shared<PreRopeReplicates>();
    found->first_tokens = field("first_tokens").squeeze(1);
    found->late_tokens = tokens_ - found->first_tokens;
    found->sum = field("sum");
    found->squares = field("squares");
    found->moduli = field("moduli");
    found->first_sum = field("first_sum");
    found->first_squares = field("first_squares");
    return std::shared_ptr<const PreRopeReplicates>(std::move(found));
  }

 private:
  AnalyzedCapture capture_;
  at::Tensor tokens_;  // [replicates]
};

}  // namespace

std::unique_ptr<KeptParts> pre_rope(const AnalyzedCapture& capture) {
  return std::make_unique<PreRopeParts>(capture);
}

}  // namespace ropewalk::parts_of
