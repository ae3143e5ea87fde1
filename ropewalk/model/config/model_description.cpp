#include "ropewalk/model/config/model_description.h"

#include <fmt/format.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {
namespace {

constexpr int64_t kMost = 1000000;  // layers, heads or dimensions

int64_t size_of(const JsonReader& file, const char* key) {
  const int64_t found = file.size(key, 0);
  if (found > kMost) file.refuse(key, fmt::format("at most {}", kMost));
  return found;
}

// Numbers per layer, for layers that have one, each read by `get`.
template <typename Number>
std::map<int64_t, Number> by_layer(const JsonReader& file, const char* key,
                                   Number (JsonReader::*get)(const std::string&) const) {
  std::map<int64_t, Number> numbers;
  if (!file.has(key)) return numbers;
  const JsonReader stated = file.object(key);
  for (const auto& [layer, number] : stated.json().items()) {
    numbers[std::strtoll(layer.c_str(), nullptr, 10)] = (stated.*get)(layer);
  }
  return numbers;
}

}  // namespace

ModelDescription::ModelDescription(Json described, const std::string& source)
    : json_(std::move(described)) {
  const JsonReader outer({{"config", json_}}, source);
  const JsonReader file = outer.object("config");
  architecture = file.text("architecture", "");
  layers = size_of(file, "layers");
  n_q_heads = size_of(file, "n_q_heads");
  n_kv_heads = size_of(file, "n_kv_heads");
  head_dim = size_of(file, "head_dim");
  if (file.has("nope_layers")) {
    const auto listed = file.integers("nope_layers");
    nope_layers = {listed.begin(), listed.end()};
  }
  if (file.has("skipped_layers")) skipped_layers = file.integers("skipped_layers");
  sliding_windows = by_layer<int64_t>(file, "sliding_windows", &JsonReader::size);
  if (file.number("attention_scale", 0) > 0) attention_scale = file.number("attention_scale");
  attention_scale_of_layer =
      by_layer<double>(file, "attention_scale_of_layer", &JsonReader::positive);
  alibi = file.flag("alibi", false);
  rope = read_described_rope(file);
}

void ModelDescription::require_heads(const std::string& source) const {
  for (const auto& [key, stated] : {std::pair("layers", layers), std::pair("n_q_heads", n_q_heads),
                                    std::pair("n_kv_heads", n_kv_heads)}) {
    if (stated > 0) continue;
    throw InputError("{}: key 'config.{}' is missing; expected a whole number of at least 1",
                     source, key);
  }
  if (!json_.contains("nope_layers")) {
    throw InputError("{}: key 'config.nope_layers' is missing; expected a list of whole numbers",
                     source);
  }
  if (n_q_heads % n_kv_heads == 0) return;
  throw InputError(
      "{}: keys 'config.n_q_heads' and 'config.n_kv_heads': found {} and {}, expected the first to "
      "be a multiple of the second",
      source, n_q_heads, n_kv_heads);
}

}  // namespace ropewalk
