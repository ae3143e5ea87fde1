#include "ropewalk/analysis/analyze_capture.h"

#include "ropewalk/analysis/analyze_streams.h"
#include "ropewalk/analysis/capture_facts.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

StreamInput make_input(const StreamSet& set, int64_t row, const BlockCounts& counts,
                       const std::vector<int64_t>& blocks) {
  const BlockCounts all = counts.joined();
  StreamInput input;
  input.tokens = static_cast<double>(all.tokens[0]);
  input.position_mean = all.position_mean[0];
  input.position_scatter = all.position_scatter[0];
  const int64_t d = set.d();
  input.mean = set.total.mean.select(0, row);
  input.position = set.total.position.select(0, row);
  input.products = unpack_triangle(set.total.products.select(0, row), d);
  for (const int64_t b : blocks) {
    const auto place = static_cast<size_t>(b);
    input.block_tokens.push_back(static_cast<double>(counts.tokens[place]));
    input.block_position_mean.push_back(counts.position_mean[place]);
    input.block_position_scatter.push_back(counts.position_scatter[place]);
  }
  const at::Tensor places = at::tensor(blocks, at::kLong);
  input.block_mean = set.blocks.mean.select(0, row).index_select(0, places);
  input.block_position = set.blocks.position.select(0, row).index_select(0, places).to(at::kDouble);
  input.block_products = unpack_triangle(
      set.blocks.products.select(0, row).index_select(0, places).to(at::kDouble), d);
  return input;
}

// Every query head of the file; its keys must be there.
std::vector<HeadPlace> find_heads(const StreamSet& queries, const StreamSet& keys,
                                  const CaptureFacts& facts, const std::string& source) {
  std::vector<HeadPlace> heads;
  for (const StreamPlace& place : queries.places) {
    if (place.layer >= facts.origin.layers || place.head >= facts.origin.n_q_heads) {
      throw InputError(
          "{}: tensors 'query.layer' and 'query.head' name layer {} head {}; the model has {} "
          "layers and {} query heads",
          source, place.layer, place.head, facts.origin.layers, facts.origin.n_q_heads);
    }
    const int64_t kv_head = place.head / facts.group();
    if (keys.find({place.layer, kv_head}) < 0) {
      throw InputError("{}: layer {} head {} has no keys (head {})", source, place.layer,
                       place.head, kv_head);
    }
    const bool rope = !facts.nope_layers.contains(place.layer);
    heads.push_back({place.layer, place.head, kv_head, rope});
  }
  return heads;
}

}  // namespace

CheckpointAnalysis analyze_capture(const CaptureMoments& moments, int64_t components,
                                   const std::string& source) {
  const CaptureFacts facts = read_capture_facts(moments.info.to_json(), source);
  std::vector<int64_t> blocks;  // that hold documents
  for (int64_t b = 0; b < moments.blocks(); ++b) {
    if (moments.counts.tokens[static_cast<size_t>(b)] > 0) blocks.push_back(b);
  }
  CheckpointAnalysis analysis = begin_checkpoint(facts);
  analysis.blocks = moments.blocks();
  for (const DocumentRecord& document : moments.documents) {
    analysis.documents.emplace_back(document.index, document.prefix_digest);
  }
  const StreamSet queries = moments.streams(StreamKind::query);
  const StreamSet keys = moments.streams(StreamKind::key);
  StreamSource streams;
  streams.name = source;
  streams.heads = find_heads(queries, keys, facts, source);
  streams.units = facts.units;
  const auto input = [&](const StreamSet& set, int64_t layer, int64_t head) {
    return make_input(set, set.find({layer, head}), moments.counts, blocks);
  };
  streams.queries = [&](const HeadPlace& place) {
    return input(queries, place.layer, place.q_head);
  };
  streams.keys = [&](const HeadPlace& place) { return input(keys, place.layer, place.kv_head); };
  analyze_streams(analysis, streams, components);
  return analysis;
}

}  // namespace ropewalk
