#include "ropewalk/analysis/analyze_capture.h"

#include "ropewalk/analysis/capture_facts.h"
#include "ropewalk/analysis/head_pca.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"

namespace ropewalk {
namespace {

StreamInput make_input(const StreamSet& set, int64_t row, const BlockCounts& counts,
                       const std::vector<int64_t>& blocks) {
  BlockCounts all(1);
  for (int64_t b = 0; b < counts.blocks(); ++b) all.add_block(0, counts, b);
  StreamInput input;
  input.tokens = static_cast<double>(all.tokens[0]);
  input.position_mean = all.position_mean[0];
  input.position_scatter = all.position_scatter[0];
  const int64_t d = set.blocks.d();
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

}  // namespace

CheckpointAnalysis analyze_capture(const CaptureMoments& moments, int64_t components,
                                   const std::string& source) {
  const CaptureFacts facts = read_capture_facts(moments.info.to_json(), source);
  const StreamPlace last{facts.origin.layers - 1, facts.origin.n_q_heads - 1};
  std::vector<int64_t> blocks;  // that hold documents
  for (int64_t b = 0; b < moments.blocks(); ++b) {
    if (moments.counts.tokens[static_cast<size_t>(b)] > 0) blocks.push_back(b);
  }
  CheckpointAnalysis analysis;
  analysis.model = facts.model;
  analysis.label = facts.label;
  analysis.random = facts.random;
  analysis.origin = facts.origin;
  analysis.last_layer = last.layer;
  analysis.blocks = moments.blocks();
  for (const DocumentRecord& document : moments.documents) {
    analysis.documents.emplace_back(document.index, document.prefix_digest);
  }
  const auto count = static_cast<int64_t>(moments.queries.places.size());
  analysis.heads.resize(static_cast<size_t>(count));
  // Each head's eigenproblems are small and solved on one core; the heads are spread over all.
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t i = begin; i < end; ++i) {
      throw_if_interrupted();
      const StreamPlace place = moments.queries.places[static_cast<size_t>(i)];
      if (place.layer > last.layer || place.head > last.head) {
        throw InputError(
            "{}: tensors 'query.layer' and 'query.head' name layer {} head {}; the model has {} "
            "layers and {} query heads",
            source, place.layer, place.head, facts.origin.layers, facts.origin.n_q_heads);
      }
      const StreamPlace key{place.layer, place.head / facts.group()};
      const int64_t key_row = moments.keys.find(key);
      if (key_row < 0) {
        throw InputError("{}: layer {} head {} has no keys (head {})", source, place.layer,
                         place.head, key.head);
      }
      HeadAnalysis& head = analysis.heads[static_cast<size_t>(i)];
      head.layer = place.layer;
      head.q_head = place.head;
      head.kv_head = key.head;
      head.rope = !facts.nope_layers.contains(place.layer);
      head.n_q = head.n_k = moments.counts.total_tokens();
      head.components =
          analyze_head(make_input(moments.queries, i, moments.counts, blocks),
                       make_input(moments.keys, key_row, moments.counts, blocks), components);
    }
  });
  return analysis;
}

}  // namespace ropewalk
