#include "ropewalk/moments/tensors/tensor_shape.h"

#include <fmt/ranges.h>

#include <array>
#include <type_traits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/architecture.h"

namespace ropewalk {
namespace {

ModelConfig known_config(const TensorShape& shape) {
  constexpr const char* kSource = "config";
  ModelConfig config =
      read_text_model(JsonReader(parse_json(shape.config, kSource), kSource)).config;
  const std::array<int64_t, 4> said{config.n_layers, config.n_q_heads, config.n_kv_heads,
                                    config.d_head};
  const std::array<int64_t, 4> found{shape.layers, shape.q_heads, shape.kv_heads, shape.head_dim};
  if (said != found) {
    throw UsageError(
        "config has {} layers, query heads, key heads and dimensions, but the vectors have {}: "
        "expected the config of their model",
        fmt::join(said, ", "), fmt::join(found, ", "));
  }
  if (config.query_scaling) {
    throw UsageError("config: {} scales queries after RoPE; expected a model that does not",
                     config.architecture);
  }
  return config;
}

// Throws for sizes whose products overflow; memory limits are checked where memory is taken.
void require_countable(const TensorShape& shape) {
  constexpr double kMostHeads = 1 << 24, kMostBytes = 0x1p+50;
  const double heads = static_cast<double>(shape.layers) * static_cast<double>(shape.q_heads);
  const double d = static_cast<double>(shape.head_dim);
  const double bytes = 2 * heads * static_cast<double>(shape.blocks) * (d + d * d / 2) * 8;
  if (heads <= kMostHeads && d <= kMostHeads && bytes <= kMostBytes) return;
  throw UsageError(
      "{} layers of {} query heads of {} dimensions in {} blocks: expected at most {} heads and "
      "{:.0f} TiB of sums, found {:.3g} and {:.3g}",
      shape.layers, shape.q_heads, shape.head_dim, shape.blocks, kMostHeads, kMostBytes / 0x1p+40,
      heads, bytes / 0x1p+40);
}

}  // namespace

ModelConfig make_config(const TensorShape& shape) {
  const bool sizes = shape.layers > 0 && shape.kv_heads > 0 && shape.q_heads >= shape.kv_heads &&
                     shape.head_dim > 0 && shape.blocks > 0;
  if (!sizes || shape.q_heads % shape.kv_heads != 0) {
    throw UsageError(
        "{} layers of {} query and {} key heads of {} dimensions in {} blocks: expected numbers "
        "above 0, and a whole number of query heads for each key head",
        shape.layers, shape.q_heads, shape.kv_heads, shape.head_dim, shape.blocks);
  }
  require_countable(shape);
  ModelConfig config;
  if (shape.config.empty()) {
    config.n_layers = shape.layers;
    config.n_q_heads = shape.q_heads;
    config.n_kv_heads = shape.kv_heads;
    config.d_head = shape.head_dim;
    config.layers.resize(static_cast<size_t>(shape.layers));
  } else {
    config = known_config(shape);
  }
  if (shape.attention_scale > 0) config.attention_scale = shape.attention_scale;
  if (shape.planned && shape.config.empty()) {
    for (const auto& [layer, window] : shape.planned->windows) {
      config.layers.at(static_cast<size_t>(layer)).window = window;
    }
  }
  return config;
}

Json planned_json(const TensorShape::Planned& planned, const KeepOptions& keep) {
  Json heads = Json::array(), windows = Json::array(), clusters = Json::array();
  for (const QueryHead& head : planned.heads) heads.push_back({head.layer, head.q_head});
  for (const auto& [layer, window] : planned.windows) windows.push_back({layer, window});
  for (const auto& [index, cluster] : planned.clusters) clusters.push_back({index, cluster});
  return {
      {"context", planned.context}, {"documents", planned.documents}, {"heads", heads},
      {"windows", windows},         {"clusters", clusters},           {"keep", keep_json(keep)}};
}

void read_planned(const Json& json, TensorShape& shape) {
  TensorShape::Planned& planned = shape.planned.emplace();
  planned.context = json.at("context").get<int64_t>();
  planned.documents = json.at("documents").get<int64_t>();
  for (const Json& head : json.at("heads")) {
    planned.heads.push_back({head.at(0).get<int32_t>(), head.at(1).get<int32_t>()});
  }
  for (const Json& one : json.at("windows")) {
    planned.windows[one.at(0).get<int64_t>()] = one.at(1).get<int64_t>();
  }
  for (const Json& one : json.at("clusters")) {
    planned.clusters[one.at(0).get<int64_t>()] = one.at(1).get<int64_t>();
  }
  const Json& keep = json.at("keep");
  for (const KeepOption& option : kKeepOptions) {
    const Json& value = keep.at(option.key);
    option.visit(shape.keep, [&](auto& member) {
      if constexpr (std::is_same_v<std::decay_t<decltype(member)>, bool>) {
        member = value.get<bool>();
      } else {
        member = parse_keep_count(value.is_string() ? value.get<std::string>() : value.dump())
                     .value_or(KeepCount{});
      }
    });
  }
}

}  // namespace ropewalk
