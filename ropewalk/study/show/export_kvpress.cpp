#include "ropewalk/study/show/export_kvpress.h"

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/files/kept_fields.h"

namespace ropewalk {
namespace {

// kvpress rotates dimension f with f + d/2, in every layer.
void refuse_other_rotations(const ExportSource& source) {
  const std::optional<DescribedRope>& stated = source.moments.info.config.rope;
  if (!stated || stated->ropes.empty()) {
    throw InputError("{}: the model has no RoPE, but kvpress rotates queries", source.name);
  }
  for (const RopeSettings& rope : stated->ropes) {
    if (rope.interleaved) {
      throw InputError(
          "{}: the model's RoPE is interleaved, but kvpress rotates dimension f with f + d/2",
          source.name);
    }
    if (rope.rotary_dim != source.d()) {
      throw InputError(
          "{}: the model's RoPE is partial ({} of {} dimensions), but kvpress rotates all",
          source.name, rope.rotary_dim, source.d());
    }
  }
}

KeptFields sums_of_queries(const ExportSource& source) {
  const auto kept = KeptFields::find(source.moments, pre_rope(), StreamKind::query);
  if (!kept) {
    throw InputError(
        "{}: has no sums of queries before RoPE, which kvpress needs; capture again without "
        "--no-pre-rope",
        source.name);
  }
  return *kept;
}

// Variances from sums about zero over n vectors; all tensors are float64, and n has as many
// dimensions as the sums.
at::Tensor variances(const at::Tensor& squares, const at::Tensor& mean, const at::Tensor& n) {
  return (squares - n * mean.square()) / (n - 1);
}

// Standard errors of one head's mean and variances, relative to their own lengths.
struct StandardErrors {
  double mean;
  double variance;
};
StandardErrors errors_of(const KeptFields& sums, int64_t stream, const at::Tensor& block_tokens) {
  if (!sums.has_blocks()) return {kUndefined, kUndefined};
  const auto total = [&](const char* field) { return sums.total(field)[stream]; };
  const auto blocks = [&](const char* field) {
    return sums.blocks(field)[stream].to(at::kDouble);  // [blocks, width]
  };
  const at::Tensor sizes = (block_tokens - blocks("first_tokens").squeeze(1)).contiguous();
  const at::Tensor n = sizes.sum();
  const at::Tensor left = (n - sizes).unsqueeze(1);  // [blocks, 1]
  const at::Tensor mean = total("sum") / n;
  const at::Tensor means = (total("sum") - blocks("sum")) / left;
  const std::span<const double> weights(sizes.const_data_ptr<double>(),
                                        static_cast<size_t>(sizes.numel()));
  return {relative_error(mean, means, weights),
          relative_error(variances(total("squares"), mean, n),
                         variances(total("squares") - blocks("squares"), means, left), weights)};
}

}  // namespace

ExportedModel export_to_kvpress(const ExportSource& source) {
  refuse_other_rotations(source);
  const KeptFields sums = sums_of_queries(source);
  const BlockCounts& counts = source.moments.counts;
  const int64_t heads = source.q_heads(), d = source.d();
  const at::Tensor n = counts.total_tokens() - sums.total("first_tokens");  // [streams, 1]
  if (n.min().item<double>() < 2) {
    throw InputError("{}: holds {} tokens at positions from {} on, expected at least 2",
                     source.name, n.min().item<double>(), kFirstTokens);
  }
  const at::Tensor mean = sums.total("sum") / n;  // [streams, d]
  const at::Tensor block_tokens = at::tensor(counts.tokens, at::kDouble);
  std::vector<at::Tensor> covariances;  // one per layer
  std::vector<double> mean_errors;
  std::vector<double> variance_errors;
  for (int64_t layer = 0; layer < source.layers(); ++layer) {
    const auto rows = [&](const at::Tensor& all) { return all.narrow(0, layer * heads, heads); };
    const at::Tensor m = rows(mean), count = rows(n).unsqueeze(2);
    const at::Tensor centred =
        unpack_triangle(rows(sums.total("products")), d) - count * m.unsqueeze(2) * m.unsqueeze(1);
    covariances.push_back((centred / (count - 1)).to(at::kFloat));
    for (int64_t head = 0; head < heads; ++head) {
      const StandardErrors errors = errors_of(sums, layer * heads + head, block_tokens);
      mean_errors.push_back(errors.mean);
      variance_errors.push_back(errors.variance);
    }
  }
  const CaptureInfo& info = source.moments.info;
  ExportedModel made;
  made.config = {{"num_layers", source.layers()},
                 {"num_heads", heads},
                 {"head_dim", d},
                 {"dataset_name", "corpus-" + info.corpus.substr(0, 16)},
                 {"model_name", info.model},
                 {"num_samples", counts.total_documents()},
                 {"sample_seq_len", info.context},
                 {"n_sink", kFirstTokens}};
  made.tensors = {{"query_mean", mean.to(at::kFloat).view({source.layers(), heads, d})},
                  {"query_cov", at::stack(covariances)}};
  made.facts = {{"tokens", static_cast<int64_t>(n.min().item<double>())},
                {"errors",
                 {{"query_mean", by_layer(mean_errors, source.layers())},
                  {"query_variance", by_layer(variance_errors, source.layers())}}}};
  if (const std::set<int64_t>& nope = source.facts.nope_layers; !nope.empty()) {
    made.warnings.push_back(fmt::format(
        "no RoPE in {} {}, but kvpress rotates the queries there too: its scores will be wrong",
        nope.size() == 1 ? "layer" : "layers", list_layers({nope.begin(), nope.end()})));
  }
  return made;
}

}  // namespace ropewalk
