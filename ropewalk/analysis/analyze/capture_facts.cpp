#include "ropewalk/analysis/analyze/capture_facts.h"

#include <fmt/format.h>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

void require_short(const std::string& name, const char* key, const std::string& source) {
  if (name.size() <= kLongestName) return;
  throw InputError("{}: key '{}': found {} bytes, expected a name of at most {}", source, key,
                   name.size(), kLongestName);
}

}  // namespace

CaptureFacts capture_facts(const CaptureInfo& info, const std::string& source) {
  const ModelDescription& config = info.config;
  config.require_heads(source);
  require_short(info.model, "model", source);
  require_short(info.label, "label", source);
  CaptureFacts facts;
  facts.origin = {config.architecture, config.layers, config.n_q_heads, config.n_kv_heads,
                  config.head_dim,     info.dtype,    info.device,      info.context};
  if (info.backend) facts.origin.backend = info.backend->text();
  for (const auto& [name, record] : info.accumulators) facts.origin.accumulators.push_back(name);
  facts.nope_layers = config.nope_layers;
  // Captures of vectors and of Moments do not state everything. What they do not state stays
  // unknown, and so do the numbers that need it.
  facts.units.scale = config.attention_scale;
  facts.units.scale_of_layer = config.attention_scale_of_layer;
  if (info.context > 0) facts.units.context = static_cast<double>(info.context);
  facts.model = info.model;
  facts.label = info.label;
  facts.random = info.random.has_value();
  if (info.shard && info.shard->count > 1) {
    facts.shard = fmt::format("{}/{}", info.shard->index, info.shard->count);
  }
  facts.chunked = info.texts > 0;
  facts.ids_are_positions = facts.chunked && info.texts_with_id == 0;
  return facts;
}

CheckpointTable begin_checkpoint(const CaptureFacts& facts) {
  CheckpointTable checkpoint;
  checkpoint.model = facts.model;
  checkpoint.label = facts.label;
  checkpoint.random = facts.random;
  checkpoint.origin = facts.origin;
  checkpoint.units = facts.units;
  checkpoint.last_layer = facts.origin.layers - 1;
  return checkpoint;
}

}  // namespace ropewalk
