#include "ropewalk/analysis/analyze/capture_facts.h"

#include <fmt/format.h>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/config_file.h"

namespace ropewalk {
namespace {

constexpr int64_t kMost = 1000000;  // layers, heads or dimensions

int64_t count(const ConfigFile& config, const char* key) {
  const int64_t found = config.size(key);
  if (found > kMost) {
    throw InputError("{}: key 'config.{}': found {}, expected at most {}", config.source(), key,
                     found, kMost);
  }
  return found;
}

std::string name(const ConfigFile& info, const char* key) {
  std::string text = info.text(key, "");
  if (text.size() > kLongestName) {
    throw InputError("{}: key '{}': found {} bytes, expected a name of at most {}", info.source(),
                     key, text.size(), kLongestName);
  }
  return text;
}

}  // namespace

CaptureFacts read_capture_facts(const Json& json, const std::string& source) {
  const ConfigFile info(json, source);
  const ConfigFile config = info.object("config");
  CaptureFacts facts;
  facts.origin = {config.text("architecture", ""), count(config, "layers"),
                  count(config, "n_q_heads"),      count(config, "n_kv_heads"),
                  config.size("head_dim", 0),      info.text("dtype", ""),
                  info.text("device", "")};
  const Json kept = json.value("kept", Json::object());
  for (const auto& [key, value] : kept.items()) {  // earlier editions have a list of names
    if (!kept.is_array()) facts.origin.kept.push_back(key);
    if (kept.is_array() && value.is_string()) facts.origin.kept.push_back(value);
  }
  const CheckpointOrigin& origin = facts.origin;
  if (origin.n_q_heads % origin.n_kv_heads != 0) {
    throw InputError(
        "{}: keys 'config.n_q_heads' and 'config.n_kv_heads': found {} and {}, expected a multiple "
        "and its part",
        source, origin.n_q_heads, origin.n_kv_heads);
  }
  const auto nope = config.integers("nope_layers");
  facts.nope_layers = {nope.begin(), nope.end()};
  // What captures of vectors and Moments do not state stays unknown, and with it the numbers that
  // need it.
  const auto known = [](const ConfigFile& file, const char* key, double& into) {
    const double found = file.number(key, 0);
    if (found > 0) into = found;
  };
  known(config, "attention_scale", facts.units.scale);
  known(info, "context", facts.units.context);
  if (facts.units.context > 0) facts.origin.context = static_cast<int64_t>(facts.units.context);
  if (config.has("attention_scale_of_layer")) {
    const ConfigFile scales = config.object("attention_scale_of_layer");
    for (int64_t layer = 0; layer < origin.layers && !scales.json().empty(); ++layer) {
      const std::string key = std::to_string(layer);
      if (scales.has(key)) facts.units.scale_of_layer[layer] = scales.positive(key);
    }
  }
  facts.model = name(info, "model");
  facts.label = name(info, "label");
  facts.random = info.has("random");
  if (info.has("shard")) {
    const auto shard = info.integers("shard");
    if (shard.size() == 2 && shard[1] > 1) facts.shard = fmt::format("{}/{}", shard[0], shard[1]);
  }
  if (info.has("chunk")) {
    const ConfigFile chunk = info.object("chunk");
    facts.chunked = true;
    facts.placed = chunk.number("named", 1) == 0;
  }
  return facts;
}

CheckpointAnalysis begin_checkpoint(const CaptureFacts& facts) {
  CheckpointAnalysis checkpoint;
  checkpoint.model = facts.model;
  checkpoint.label = facts.label;
  checkpoint.random = facts.random;
  checkpoint.origin = facts.origin;
  checkpoint.units = facts.units;
  checkpoint.last_layer = facts.origin.layers - 1;
  return checkpoint;
}

}  // namespace ropewalk
