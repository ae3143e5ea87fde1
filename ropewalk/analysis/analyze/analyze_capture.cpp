#include "ropewalk/analysis/analyze/analyze_capture.h"

#include <algorithm>
#include <optional>

#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/analysis/replicates/probes.h"
#include "ropewalk/analysis/replicates/rope_source.h"
#include "ropewalk/analysis/table/loss_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/kernels/products/symmetric.h"
#include "ropewalk/moments/collectors/probe_collector.h"

namespace ropewalk {
namespace {

// Every query head of the file. Throws where the keys of a head are missing.
std::vector<HeadId> find_heads(const StreamSet& queries, const StreamSet& keys,
                               const CaptureFacts& facts, bool sampled, const std::string& source) {
  std::vector<HeadId> heads;
  for (const StreamId& id : queries.ids) {
    if (id.layer >= facts.origin.layers || id.head >= facts.origin.n_q_heads) {
      throw InputError(
          "{}: tensors 'query.layer' and 'query.head' contain layer {} head {}, but the model has "
          "{} layers and {} query heads",
          source, id.layer, id.head, facts.origin.layers, facts.origin.n_q_heads);
    }
    const int64_t kv_head = id.head / facts.group();
    if (keys.find({id.layer, kv_head}) < 0) {
      throw InputError("{}: layer {} head {} has no keys (head {})", source, id.layer, id.head,
                       kv_head);
    }
    std::optional<bool> rope;  // unknown for vectors that come without their model
    if (!sampled || !facts.origin.architecture.empty()) {
      rope = !facts.nope_layers.contains(id.layer);
    }
    heads.push_back({id.layer, id.head, kv_head, rope});
  }
  return heads;
}

// Whether the capture lacks something that captures keep by default. Captures of synthetic data, or
// of vectors that attention does not see, have no such defaults.
bool lacks_default_accumulators(const CaptureMoments& moments) {
  if (moments.info.weights.empty() || moments.info.point != kPostRope) return false;
  CaptureShape shape =
      shape_of(moments.info, moments.documents, moments.streams(StreamKind::query).d());
  shape.keep = KeepOptions();
  return std::any_of(accumulators().begin(), accumulators().end(), [&](const Accumulator* one) {
    const bool there =
        std::any_of(moments.accumulated.begin(), moments.accumulated.end(),
                    [&](const AccumulatedFields& kept) { return kept.accumulator == one; });
    return !there && !one->fields(shape).empty();
  });
}

// Warns where the capture has no sums per block, so that it has no standard errors, or where it is
// one shard, so that its errors rest on fewer blocks.
void warn_of_blocks(const CaptureMoments& moments, const CaptureFacts& facts,
                    const std::vector<int64_t>& blocks, const std::string& source) {
  if (!moments.streams(StreamKind::query).blocks.mean.defined()) {
    log::warning(
        "{}: lacks tensors of blocks ('query.block_mean', 'key.block_products' and others): its "
        "numbers have no standard errors; capture it again to have them",
        source);
  }
  if (!facts.shard.empty() && !blocks.empty()) {
    log::warning(
        "{}: is shard {}: its documents fill {} of {} blocks, so that errors have {} degrees of "
        "freedom, not {}; merge the shards first",
        source, facts.shard, blocks.size(), moments.blocks(), blocks.size() - 1,
        moments.blocks() - 1);
  }
}

}  // namespace

std::vector<int64_t> nonempty_blocks(const CaptureMoments& moments) {
  std::vector<int64_t> blocks;
  if (!moments.streams(StreamKind::query).blocks.mean.defined()) return blocks;
  for (int64_t b = 0; b < moments.blocks(); ++b) {
    if (moments.counts.tokens[static_cast<size_t>(b)] > 0) blocks.push_back(b);
  }
  return blocks;
}

StreamInput stream_of(const StreamSet& set, int64_t stream, const BlockCounts& counts,
                      const std::vector<int64_t>& blocks) {
  const BlockCounts all = counts.joined();
  StreamInput input;
  input.tokens = static_cast<double>(all.tokens[0]);
  input.position_mean = all.position_mean[0];
  input.position_scatter = all.position_scatter[0];
  const int64_t d = set.d();
  input.mean = set.total.mean.select(0, stream);
  input.position = set.total.position.select(0, stream);
  input.products = unpack_triangle(set.total.products.select(0, stream), d);
  for (const int64_t b : blocks) {
    const auto block = static_cast<size_t>(b);
    input.block_tokens.push_back(static_cast<double>(counts.tokens[block]));
    input.block_position_mean.push_back(counts.position_mean[block]);
    input.block_position_scatter.push_back(counts.position_scatter[block]);
  }
  if (blocks.empty()) {
    input.block_mean = input.block_position = at::zeros({0, d}, at::kDouble);
    input.block_products = at::zeros({0, d, d}, at::kDouble);
    return input;
  }
  const at::Tensor rows = at::tensor(blocks, at::kLong);
  input.block_mean = set.blocks.mean.select(0, stream).index_select(0, rows);
  input.block_position =
      set.blocks.position.select(0, stream).index_select(0, rows).to(at::kDouble);
  const auto count = static_cast<int64_t>(blocks.size());
  const at::Tensor packed = set.blocks.products.select(0, stream).contiguous();
  input.block_products = at::empty({count, d, d}, at::kDouble);
  for (int64_t i = 0; i < count; ++i) {
    double* const matrix = mutable_row(input.block_products, i);
    const int64_t from = blocks[static_cast<size_t>(i)] * packed.size(1);
    packed.scalar_type() == at::kFloat
        ? unpack_symmetric(matrix, packed.const_data_ptr<float>() + from, d)
        : unpack_symmetric(matrix, packed.const_data_ptr<double>() + from, d);
  }
  return input;
}

CheckpointTable analyze_capture(const CaptureMoments& moments, int64_t components,
                                const std::string& source, int64_t memory, int64_t span,
                                const CaptureMoments* probes) {
  const CaptureFacts facts = capture_facts(moments.info, source);
  const StreamSet queries = moments.streams(StreamKind::query);
  const StreamSet keys = moments.streams(StreamKind::key);
  const std::vector<int64_t> blocks = nonempty_blocks(moments);
  warn_of_blocks(moments, facts, blocks, source);
  CheckpointTable analysis = begin_checkpoint(facts);
  analysis.blocks = moments.blocks();
  for (const DocumentRecord& document : moments.documents) {
    analysis.documents.emplace_back(document.index, document.prefix_digest);
  }
  analysis.known_documents =
      moments.sampled() ||
      std::any_of(moments.documents.begin(), moments.documents.end(),
                  [](const DocumentRecord& document) { return document.prefix_digest != 0; });
  CheckpointLoss loss = checkpoint_loss(moments);
  analysis.loss = std::move(loss.rows);
  analysis.loss_parts = std::move(loss.parts);
  StreamSource streams;
  streams.name = source;
  streams.heads = find_heads(queries, keys, facts, moments.sampled(), source);
  streams.units = facts.units;
  // A sum over sampled tokens cannot stand for a sum over all tokens.
  std::optional<RopeSource> rope;
  std::optional<CaptureParts> parts;
  if (!moments.sampled()) {
    rope.emplace(moments, facts.nope_layers, blocks, source, span);
    parts.emplace(AnalyzedCapture{moments, blocks, source});
  }
  std::optional<ProbeSource> probed;
  if (probes != nullptr) {
    probed.emplace(*probes, static_cast<int64_t>(blocks.size()), source + ", its probes");
  }
  const bool lacks = !moments.sampled() && lacks_default_accumulators(moments);
  const auto input = [&](const StreamSet& set, StreamKind kind, const StreamId& id) {
    const int64_t row = set.find(id);
    StreamInput made = stream_of(set, row, moments.counts_of(kind, row), blocks);
    made.lacks_default_accumulators = lacks;
    if (parts) parts->give(made.parts, kind, row);
    if (rope) {
      made.layer = rope->layer(id.layer);
      if (kind == StreamKind::query) made.slope = rope->slope(id.head);
    }
    if (probed && kind == StreamKind::query)
      made.parts[kProbesName] = probed->of(id.layer, id.head);
    return made;
  };
  streams.queries = [&](const HeadId& id) {
    return input(queries, StreamKind::query, {id.layer, id.q_head});
  };
  streams.keys = [&](const HeadId& id) {
    return input(keys, StreamKind::key, {id.layer, id.kv_head});
  };
  analyze_streams(analysis, streams, components, memory);
  return analysis;
}

}  // namespace ropewalk
