#include "ropewalk/analysis/forecast/centre_logits.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_source.h"
#include "ropewalk/analysis/replicates/turning.h"
#include "ropewalk/base/error.h"
#include "ropewalk/model/config/rope_frequencies.h"
#include "ropewalk/moments/accumulators/pre_rope.h"
#include "ropewalk/moments/files/kept_fields.h"

namespace ropewalk {
namespace {

int64_t longest_document(const CaptureMoments& capture) {
  const std::optional<DocumentLengths> lengths = document_lengths(capture);
  return lengths ? lengths->all.rbegin()->first : capture.info.context;
}

// The blocks with documents, where the file has sums of each.
std::vector<int64_t> summed_blocks(const CaptureMoments& capture) {
  const auto kept = KeptFields::find(capture, pre_rope(), StreamKind::query);
  std::vector<int64_t> blocks = nonempty_blocks(capture);
  if (blocks.size() < 2 || !kept || !kept->has_blocks()) blocks.clear();
  return blocks;
}

void require_sums(const KeptParts* sums, const CaptureFacts& facts, const std::string& source) {
  if (sums == nullptr) {
    throw InputError(
        "{}: has no sums before RoPE, from which settings are forecast; capture it again without "
        "--no-pre-rope",
        source);
  }
  if (std::isnan(facts.units.scale)) {
    throw InputError(
        "{}: key 'config.attention_scale' is missing, which the forecast needs; capture it again",
        source);
  }
}

}  // namespace

CentreLogits::CentreLogits(const CaptureMoments& capture, const CaptureFacts& facts,
                           std::string source, const RopeLengths& lengths)
    : capture_(capture), facts_(facts), source_(std::move(source)), lengths_(lengths) {
  const ModelDescription& config = capture.info.config;
  if (varied_ropes(config).empty()) {
    throw UsageError(Field{"rope"},
                     ": found a model without RoPE ('{}' of {}), expected one that turns queries "
                     "and keys; no setting can be forecast",
                     facts.origin.architecture, source_);
  }
  config.rope->require_fit(facts.origin.head_dim, source_);
  blocks_ = summed_blocks(capture);
  if (!capture.sampled()) sums_ = open_parts({capture, blocks_, source_}, pre_rope());
  require_sums(sums_.get(), facts, source_);
  captured_ = longest_document(capture);
  for (const int64_t block : blocks_) {
    block_tokens_.push_back(static_cast<double>(capture.counts.tokens[static_cast<size_t>(block)]));
  }
  queries_ = capture.streams(StreamKind::query);
  keys_ = capture.streams(StreamKind::key);
  find_heads();
  own_ = setting({"none"});
  const auto& scaling = config.rope->query_scaling;
  if (scaling && lengths.context > scaling->original_context) {
    const auto of = [&](int64_t tokens) {
      return at::tensor(scaling_by_distance({{tokens, 1}}, tokens, *scaling), at::kDouble);
    };
    query_scaling_ = at::cat({of(lengths.trained), of(lengths.context).slice(0, lengths.trained)});
  }
}

void CentreLogits::find_heads() {
  for (const StreamId& id : queries_.ids) {
    if (facts_.nope_layers.contains(id.layer)) continue;
    heads_.push_back({id.layer, id.head, id.head / facts_.group()});
  }
  if (!heads_.empty()) return;
  throw UsageError(Field{"rope"},
                   ": found no head in a layer with RoPE in {}, expected some; no setting can be "
                   "forecast",
                   source_);
}

bool CentreLogits::by_length() const {
  const auto& ropes = capture_.info.config.rope->ropes;
  return std::any_of(ropes.begin(), ropes.end(), [&](const RopeSettings& rope) {
    return !rope_frequencies(rope, lengths_.context)
                .angles.equal(rope_frequencies(rope, captured_).angles);
  });
}

CentreLogits::Setting CentreLogits::setting(const RopeSpec& spec) const {
  const ModelDescription& config = capture_.info.config;
  const std::set<int64_t> varied = varied_ropes(config);
  // What keeps the model's own scaling keeps its angles.
  const int64_t tokens = spec.replaces_scaling() ? lengths_.context : captured_;
  Setting made;
  for (size_t i = 0; i < config.rope->ropes.size(); ++i) {
    std::optional<RopeSettings> rope = config.rope->ropes[i];
    const bool changes = varied.contains(static_cast<int64_t>(i));
    if (changes) rope = vary_rope(*rope, spec, lengths_);
    const bool turns = rope.has_value();
    // Pairs lie where they did if nothing turns.
    const RopeSettings& pairs = turns ? *rope : config.rope->ropes[i];
    made.push_back(rope_layer(&pairs, turns, facts_.origin.head_dim, changes ? tokens : captured_));
  }
  return made;
}

at::Tensor CentreLogits::centre(StreamKind kind, int64_t layer, int64_t head) const {
  const StreamSet& set = kind == StreamKind::query ? queries_ : keys_;
  const int64_t row = set.find({layer, head});
  if (row < 0) {
    throw InputError("{}: has no keys of layer {} head {}", source_, layer, head);
  }
  const auto sums = std::any_cast<std::shared_ptr<const PreRopeReplicates>>(sums_->part(kind, row));
  at::Tensor mean = sums->centre();
  if (!mean.isfinite().all().item<bool>()) {
    throw InputError(
        "{}: has no mean before RoPE for layer {} head {}: documents, also those of all blocks but "
        "one, must have tokens after the first {}",
        source_, layer, head, kFirstTokens);
  }
  return mean;
}

CentreLogits::Head CentreLogits::head(const ForecastHead& id) const {
  const ModelDescription& config = capture_.info.config;
  Head made;
  const auto index = config.rope->rope_of_layer.find(id.layer);
  made.rope = index == config.rope->rope_of_layer.end() ? 0 : static_cast<size_t>(index->second);
  made.scale = facts_.units.in_layer(id.layer).scale;
  made.product = centre_product(own_[made.rope], centre(StreamKind::query, id.layer, id.q_head),
                                centre(StreamKind::key, id.layer, id.kv_head));
  const auto window = config.sliding_windows.find(id.layer);
  const int64_t seen = window == config.sliding_windows.end() ? lengths_.context : window->second;
  made.trained = std::min(lengths_.trained, seen);
  made.own = logits(own_[made.rope], made, std::min(lengths_.context, seen));
  return made;
}

at::Tensor CentreLogits::logits(const RopeLayer& layer, const Head& head, int64_t distances) const {
  const CentreProduct& product = head.product;
  at::Tensor found;
  if (layer.theta.count_nonzero().item<int64_t>() == 0) {  // the same at every distance, exactly
    const double factor = layer.factor * layer.factor;
    found = (product.real.sum(1) * factor + product.rest).unsqueeze(1).repeat({1, distances});
  } else {
    found = product_by_distance(product, layer.theta, layer.factor, distances);
  }
  found *= head.scale;
  if (query_scaling_.defined()) found *= query_scaling_.slice(0, 0, distances);
  return found;
}

at::Tensor CentreLogits::under(const Setting& setting, const Head& head) const {
  const RopeLayer& layer = setting[head.rope];
  const RopeLayer& own = own_[head.rope];
  if (layer.factor == own.factor && layer.theta.equal(own.theta)) return head.own;
  return logits(layer, head, head.own.size(1));
}

}  // namespace ropewalk
