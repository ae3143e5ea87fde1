#include "ropewalk/study/source/backend_model.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/version.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {
namespace {

using FailureKind = CompanionFailure::FailureKind;

// The sizes of a layer's queries and keys, as transformers states them.
struct LayerSizes {
  int64_t layer = 0;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;
  int64_t d_head = 0;
  std::optional<double> scale;
  std::optional<int64_t> window;

  std::string text() const {
    return fmt::format("{} query and {} key heads of {} dimensions", q_heads, kv_heads, d_head);
  }
  bool operator==(const LayerSizes& other) const {
    return q_heads == other.q_heads && kv_heads == other.kv_heads && d_head == other.d_head;
  }
};

std::vector<LayerSizes> layers_of(const JsonReader& answer) {
  std::vector<LayerSizes> layers;
  for (const JsonReader& one : answer.objects("attention")) {
    layers.push_back({one.count("layer"), one.size("q_heads"), one.size("kv_heads"),
                      one.size("d_head"), one.optional_number("scale"),
                      one.optional_size("window")});
  }
  return layers;
}

// Our own reading of the config, whatever the weights' format; empty where we lack the family.
std::optional<TextModel> own_reading(const JsonReader& config) {
  Json plain = config.json();
  plain.erase("quantization_config");
  if (plain.contains("text_config") && plain["text_config"].is_object()) {
    plain["text_config"].erase("quantization_config");
  }
  try {
    return read_text_model(JsonReader(std::move(plain), config.source()));
  } catch (const InputError& error) {
    log::debug("{}", error.what());
    return std::nullopt;
  }
}

// Whether our reading agrees with what transformers made of the config.
bool agrees(const ModelConfig& own, const std::vector<LayerSizes>& layers) {
  const LayerSizes sizes{0, own.n_q_heads, own.n_kv_heads, own.d_head, {}, {}};
  std::vector<int64_t> mine, theirs;
  for (int64_t i = 0; i < own.n_layers; ++i) {
    if (own.layers[static_cast<size_t>(i)].self_attention) mine.push_back(i);
  }
  for (const LayerSizes& one : layers) theirs.push_back(one.layer);
  return mine == theirs && std::all_of(layers.begin(), layers.end(),
                                       [&](const LayerSizes& one) { return one == sizes; });
}

// A family that we lack: only what its captures need. Layers of another size than the measured ones
// are an error.
ModelConfig sizes_alone(const JsonReader& answer, const std::vector<LayerSizes>& layers,
                        const ModelOptions& options) {
  ModelConfig config;
  config.n_layers = std::max(answer.size("layers", 1), layers.back().layer + 1);
  config.max_positions = answer.count("max_positions");
  const int64_t context = options.context.value_or(config.max_positions);
  config.layers.resize(static_cast<size_t>(config.n_layers));
  for (LayerConfig& layer : config.layers) layer.self_attention = false;
  const LayerSizes* first = nullptr;
  for (const LayerSizes& one : layers) {
    LayerConfig& layer = config.layers[static_cast<size_t>(one.layer)];
    layer.self_attention = true;
    layer.window = one.window;
    if (one.window && *one.window < context && !options.sliding) continue;  // it is not measured
    if (first == nullptr) first = &one;
    if (one.scale != first->scale) layer.attention_scale = one.scale;
    if (one == *first) continue;
    throw InputError(
        "layer {} has {}, but layer {} has {}; expected one size in all layers that are measured",
        first->layer, first->text(), one.layer, one.text());
  }
  if (first == nullptr) first = &layers.front();
  config.n_q_heads = first->q_heads;
  config.n_kv_heads = first->kv_heads;
  config.d_head = first->d_head;
  config.attention_scale = first->scale.value_or(0);
  config.vocabulary_size = answer.size("vocabulary");
  config.embedding_rows = answer.size("embedding_rows");
  return config;
}

// The description of a family that we lack: no setting of ours is stated that nobody read, and a
// digest stands for those that we do not know.
Json describe_sizes(const ModelConfig& config, const JsonReader& file) {
  const Json all = describe_config(config);
  Json json;
  for (const char* key :
       {"architecture", "layers", "n_q_heads", "n_kv_heads", "head_dim", "vocabulary",
        "embedding_rows", "max_position_embeddings", "attention_scale", "attention_scale_of_layer",
        "nope_layers", "skipped_layers", "sliding_windows"}) {
    json[key] = all.at(key);
  }
  Json settings = file.json();
  for (const char* key : {"_name_or_path", "transformers_version", "dtype", "torch_dtype"}) {
    settings.erase(key);
  }
  json["settings"] = sha256_hex(settings.dump()).substr(0, 16);
  return json;
}

Json ask_for_description(const ModelOptions& options, const JsonReader& config) {
  static std::mutex mutex;
  static std::map<std::string, Json> known;
  const Json request = backend_request(options, config, "describe");
  const std::lock_guard lock(mutex);
  Json& answer = known[request.dump()];
  if (!answer.is_null()) return answer;
  try {
    return answer = model_companion().ask("model", {request, {}}).words;
  } catch (const CompanionFailure& failure) {
    known.erase(request.dump());
    throw_backend_error(config.source(), failure);
  }
}

std::shared_ptr<const BackendModel> interpret(const ModelOptions& options, const JsonReader& config,
                                              const Json& words) {
  const JsonReader answer(words, "transformers' description");
  auto model = std::make_shared<BackendModel>();
  model->backend = {std::string(kTransformers), answer.text("version"), answer.text("torch")};
  model->model_class = answer.text("class");
  model->elements = answer.size("elements");
  const std::vector<LayerSizes> layers = layers_of(answer);
  const std::optional<TextModel> own = own_reading(config);
  if (own && agrees(own->config, layers)) {
    model->text = *own;
    model->described = describe_config(own->config);
    if (!own->config.query_scaling) {
      Json plain = config.json();
      plain.erase("quantization_config");
      model->rope_config = plain.dump();
    }
    return model;
  }
  model->text.config = sizes_alone(answer, layers, options);
  const JsonReader text = config.has("text_config") ? config.object("text_config") : config;
  model->text.config.architecture = text.text("model_type", config.text("model_type", ""));
  model->described = describe_sizes(model->text.config, config);
  return model;
}

}  // namespace

Json backend_request(const ModelOptions& options, const JsonReader& config, const char* what) {
  return {{"do", what},
          {"version", version()},
          {"folder", std::filesystem::absolute(options.model).string()},
          {"settings", config.json()},
          {"changed", !options.config.empty()},
          {"trust", options.trust_remote_code}};
}

std::shared_ptr<const BackendModel> describe_backend_model(const ModelOptions& options,
                                                           const JsonReader& config) {
  try {
    return interpret(options, config, ask_for_description(options, config));
  } catch (const InputError& error) {
    const std::string text = error.what();
    if (text.starts_with(config.source())) throw;
    throw InputError("{}: {}", config.source(), text);
  }
}

void throw_backend_error(const std::string& model, const CompanionFailure& failure) {
  switch (failure.how()) {
    case FailureKind::missing:
    case FailureKind::cannot_run:
      throw SystemError("backend transformers: {}", failure.what());
    case FailureKind::memory:
      throw UsageError(Field{"memory"},
                       ": {}: there is not enough of it: {}; a smaller --memory reads layers from "
                       "disk, a smaller context needs less",
                       model, failure.what());
    case FailureKind::refused:
      throw InputError("{}: {}", model, failure.what());
    default:
      throw SystemError("{}: backend transformers failed: {}", model, failure.what());
  }
}

}  // namespace ropewalk
