#include "ropewalk/analysis/replicates/rows.h"

#include <limits>

#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/accumulators/rows.h"

namespace ropewalk {

at::Tensor RowReplicates::sum(int64_t column) const { return numbers.select(2, column).sum(1); }

at::Tensor RowReplicates::ratio(int64_t column, int64_t divisor) const {
  const at::Tensor below = sum(divisor);
  return at::where(below > 0, sum(column) / below, kUndefined);
}

std::shared_ptr<const RowReplicates> row_replicates(const HeadReplicates& head) {
  return head.queries.input.part<RowReplicates>("rows");
}

namespace parts_of {
namespace {

// What a file may hold in place of edges: positions and ids are taken for whole numbers.
void require_edges(const KeptFields& kept, const AnalyzedCapture& capture) {
  const at::Tensor all = kept.total("edges").to(at::kDouble);
  const at::Tensor edges = all.view({all.size(0), kEdges, EdgeNumber::count});
  const auto number = [&](int64_t column) { return edges.select(2, column); };
  const auto whole = [](const at::Tensor& x, double most) {
    return x.ge(0).logical_and(x.le(most)).logical_and(x.eq(x.floor())).all().item<bool>();
  };
  const auto context = static_cast<double>(capture.moments.info.context);
  const at::Tensor p = number(EdgeNumber::p);
  const at::Tensor apart = number(EdgeNumber::key).lt(number(EdgeNumber::t)).logical_or(p.eq(0));
  constexpr double kMostP = 1.001;  // they are float32
  if (!whole(number(EdgeNumber::document), static_cast<double>(kMostDocuments)) ||
      !whole(number(EdgeNumber::t), context) || !whole(number(EdgeNumber::key), context) ||
      !apart.all().item<bool>() || !p.ge(0).logical_and(p.le(kMostP)).all().item<bool>()) {
    throw InputError(
        "{}: tensor 'rows.query.edges' holds numbers that are no edges; expected a document, two "
        "positions below {}, the second one first, and a probability",
        capture.source, capture.moments.info.context);
  }
  constexpr double kMostIds = std::numeric_limits<int32_t>::max();
  if (!whole(kept.total("edge_tokens").to(at::kDouble), kMostIds)) {
    throw InputError("{}: tensor 'rows.query.edge_tokens' holds numbers that are no token ids",
                     capture.source);
  }
}

class RowParts : public KeptParts {
 public:
  explicit RowParts(const AnalyzedCapture& capture) : capture_(capture) {
    const auto kept = KeptFields::find(capture.moments, ropewalk::rows(), StreamKind::query);
    require_edges(*kept, capture);
  }

  std::any part(StreamKind kind, int64_t row) const override {
    const auto kept = KeptFields::find(capture_.moments, ropewalk::rows(), kind);
    const auto number = [&](const char* field, int64_t column) {
      return kept->total(field).select(0, row)[column].item<double>();
    };
    if (kind == StreamKind::key) {
      return std::make_shared<const LongestKey>(LongestKey{number("longest", 0)});
    }
    const auto by_octave = [&](const char* field) {
      const at::Tensor all = field_replicates(*kept, field, row, capture_.blocks);
      const int64_t octaves = row_octaves(capture_.moments.info.context);
      // Blocks are rounded: what is left of a sum that is all in one block may not be 0.
      constexpr double kRounding = 1e-6;
      const at::Tensor little = all.abs() <= all.slice(0, 0, 1).abs() * kRounding;
      return at::where(little, 0.0, all).view({all.size(0), octaves, -1});
    };
    const auto edges = [&](const char* field, std::vector<int64_t> shape) {
      return kept->total(field).select(0, row).to(at::kDouble).view(shape).contiguous();
    };
    return std::make_shared<const RowReplicates>(RowReplicates{
        by_octave("sums"), by_octave("attended"), edges("edges", {kEdges, -1}),
        edges("edge_tokens", {kEdges, 2, -1}), number("largest", 0), number("largest", 1)});
  }

 private:
  AnalyzedCapture capture_;
};

}  // namespace

std::unique_ptr<KeptParts> rows(const AnalyzedCapture& capture) {
  return std::make_unique<RowParts>(capture);
}

}  // namespace parts_of

}  // namespace ropewalk
