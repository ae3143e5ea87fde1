#include "ropewalk/study/show/export_q_filters.h"

#include <cmath>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"

namespace ropewalk {
namespace {

// One query head's direction: for the whole sample, and without each block.
struct Direction {
  at::Tensor rows;      // [replicates, d], of length 1
  double strength = 0;  // how clear its sign is: the mean along it over the root mean square
};

Direction direction_of(const StreamReplicates& queries, int64_t cases, const std::string& where) {
  const at::Tensor mean = queries.mean.slice(0, 0, cases);
  const at::Tensor second = queries.products.slice(0, 0, cases) /
                                queries.tokens.slice(0, 0, cases).unsqueeze(1).unsqueeze(2) +
                            mean.unsqueeze(2) * mean.unsqueeze(1);
  if (!second.isfinite().all().item<bool>()) {
    throw InputError("{}: the products of queries are too large", where);
  }
  const auto [values, vectors] = at::linalg_eigh(second);           // ascending
  const at::Tensor first = vectors.select(2, vectors.size(2) - 1);  // [replicates, d]
  // the whole sample's orientation
  const at::Tensor way = at::where((first * first[0]).sum(1, true) < 0, -1., 1.);
  const double along = first[0].dot(mean[0]).item<double>();
  const double size = std::sqrt(std::max(0., values[0][-1].item<double>()));
  return {first * way * (along < 0 ? 1. : -1.), size > 0 ? std::abs(along) / size : 0};
}

}  // namespace

ExportedModel export_to_q_filters(const ExportSource& source) {
  const BlockCounts& counts = source.moments.counts;
  const std::vector<int64_t> blocks = nonempty_blocks(source.moments);
  const StreamSet queries = source.moments.streams(StreamKind::query);
  const int64_t layers = source.layers(), kv_heads = source.kv_heads(), d = source.d();
  const int64_t group = source.facts.group(), groups = layers * kv_heads;
  // Without its only block a sample is empty, so there are no replicates.
  const int64_t cases = blocks.size() < 2 ? 1 : static_cast<int64_t>(blocks.size()) + 1;
  const at::Tensor filters = at::empty({groups, d}, at::kDouble);
  std::vector<double> errors(static_cast<size_t>(groups));
  std::vector<double> strengths(static_cast<size_t>(groups * group));
  at::parallel_for(0, groups, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t g = begin; g < end; ++g) {
      throw_if_interrupted();
      at::Tensor sum = at::zeros({cases, d}, at::kDouble);
      std::vector<double> sizes;
      for (int64_t row = g * group; row < (g + 1) * group; ++row) {
        const StreamInput input = stream_of(queries, row, counts, blocks);
        const Direction direction = direction_of(leave_one_out(input), cases, source.name);
        sum += direction.rows;
        strengths[static_cast<size_t>(row)] = direction.strength;
        sizes = input.block_tokens;
      }
      const at::Tensor mean = sum / group;
      filters[g].copy_(mean[0]);
      errors[static_cast<size_t>(g)] =
          cases == 1 ? kUndefined : relative_error(mean[0], mean.slice(0, 1), sizes);
    }
  });
  ExportedModel made;
  made.config = {{"num_layers", layers}, {"num_kv_heads", kv_heads}, {"kv_head_dim", d}};
  made.tensors = {{"q_filters", filters.to(at::kFloat).view({layers, kv_heads, d})}};
  Json weak = Json::array();
  for (size_t row = 0; row < strengths.size(); ++row) {
    const StreamId& id = queries.ids[row];
    if (strengths[row] < kWeakSign) weak.push_back({id.layer, id.head});
  }
  if (!weak.empty()) {
    made.warnings.push_back(
        fmt::format("the signs of {} of {} query heads are weak: their means hardly decide in "
                    "which direction queries point (weak_signs in ropewalk.json lists these heads)",
                    weak.size(), strengths.size()));
  }
  made.facts = {{"tokens", counts.total_tokens()},
                {"errors", {{"q_filters", by_layer(errors, layers)}}},
                {"sign_strength", by_layer(strengths, layers)},
                {"weak_signs", weak}};
  return made;
}

}  // namespace ropewalk
