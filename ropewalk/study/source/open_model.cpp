#include "ropewalk/study/source/open_model.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk {

namespace {

// The dtype in which most of the weights are stored. For a Hub model it is taken from config.json,
// whether or not the weights are downloaded: the choice of a dtype must not depend on that.
std::string stored_dtype(const JsonReader& file, const ModelOptions& options,
                         const Checkpoint* checkpoint) {
  return options.hub || checkpoint == nullptr ? stated_dtype(file) : checkpoint->stored_dtype();
}

// Reads the config for our own pass, or lets transformers read it.
void read_config(const JsonReader& file, const ModelOptions& options, OpenModel& model) {
  const JsonReader config = override_config(file, options.config);
  if (options.backend == kTransformers) {
    model.backend = describe_backend_model(options, config);
    model.text = model.backend->text;
  } else {
    model.text = read_text_model(config);
  }
}

int64_t needed_elements(const OpenModel& model) {
  if (model.backend) return model.backend->elements;
  return needed_elements(*model.text.architecture, model.text.config, model.measured());
}

OpenModel choose_settings(const JsonReader& file, const ModelOptions& options,
                          const Checkpoint* checkpoint) {
  OpenModel model;
  model.name = options.hub ? options.hub->name() : options.model.string();
  read_config(file, options, model);
  const ModelConfig& config = model.text.config;

  model.device = parse_device(options.device, options.processes);
  model.memory = options.memory.value_or(0);
  if (model.memory == 0) model.memory = default_memory(model.device, options.processes);
  model.context = options.context.value_or(config.max_positions);
  if (model.context == 0) {
    throw UsageError("{}: its config.json states no largest number of positions; give the context",
                     model.name);
  }
  if (!options.from_file) {
    const std::string problem = too_few_positions_error(model.text, model.context);
    if (!problem.empty()) throw InputError("{}: {}", model.name, problem);
    const std::string beyond = long_context_warning(config, model.context);
    if (!beyond.empty()) log::warning("{}", beyond);
  }

  std::vector<int32_t> layers;
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const LayerConfig& layer = config.layers[static_cast<size_t>(i)];
    if (!layer.self_attention) continue;
    const bool slides = layer.window && *layer.window < model.context;
    if (slides) model.sliding_layers.push_back(i);
    if (!slides || options.sliding) layers.push_back(static_cast<int32_t>(i));
  }
  if (layers.empty()) {
    throw UsageError(
        "{}: every layer has a sliding window shorter than the context of {} tokens; {} to measure "
        "them, or choose a shorter {}",
        model.name, model.context, options.from_file ? "write sliding: true" : "add --sliding",
        options.from_file ? "context" : "--context");
  }
  const auto candidates = head_candidates(layers, static_cast<int32_t>(config.n_q_heads));
  model.heads =
      sample_heads(candidates, options.heads.value_or(static_cast<int64_t>(candidates.size())),
                   options.seed)
          .drawn;
  for (const QueryHead& head : model.heads) {
    model.last_layer = std::max<int64_t>(model.last_layer, head.layer);
  }
  model.head = options.head;
  model.scores = options.scores;
  // The loss is computed in the same precision as queries and keys.
  const Precision precision =
      choose_precision(options.dtype, model.device,
                       {stored_dtype(file, options, checkpoint), needed_elements(model)});
  model.dtype = precision.dtype;
  model.dtype_reason = precision.why;
  if (options.random) model.random.emplace(*options.random, config);
  return model;
}

}  // namespace

std::string long_context_warning(const ModelConfig& config, int64_t context) {
  if (config.max_positions == 0 || context <= config.max_positions) return {};
  return fmt::format(
      "context {} exceeds the model's max_position_embeddings {}: later tokens are at positions "
      "for which it was not made",
      context, config.max_positions);
}

std::string too_few_positions_error(const TextModel& text, int64_t context) {
  const int64_t most = text.config.max_positions;
  if (text.architecture == nullptr || text.architecture->position_embedding.empty()) return {};
  if (context <= most) return {};
  return fmt::format("context {} exceeds its {} learned positions; use at most {}", context, most,
                     most);
}

OpenModel open_model(const ModelOptions& options, std::shared_ptr<const Checkpoint> opened) {
  if (!opened) opened = std::make_shared<const Checkpoint>(options.model, options.headers);
  OpenModel model = choose_settings(opened->config(), options, opened.get());
  model.checkpoint = std::move(opened);
  return model;
}

OpenModel open_without_weights(const ModelOptions& options) {
  return choose_settings(*options.headers->json(options.model / "config.json"), options, nullptr);
}

WeightReader OpenModel::weights() const {
  return {*checkpoint, *text.architecture, text.config, extent(), dtype, device, random};
}

std::string OpenModel::weights_digest() const {
  if (backend && random) return fmt::format("random:{}", random->seed());
  return backend ? checkpoint->digest() : weights().digest(measured());
}

Json OpenModel::describe() const {
  return backend ? backend->described : describe_config(text.config);
}

std::string OpenModel::stage_name(int64_t stage) const {
  const int64_t last = extent().last_layer;
  return stage > last ? "head" : fmt::format("layer {}/{}", stage + 1, last + 1);
}

std::string OpenModel::arithmetic() const {
  std::string words = fmt::format("{} on {} ({})", dtype_name(dtype), device.str(), dtype_reason);
  return backend ? fmt::format("{}, {} of {}", words, backend->model_class, backend->backend.text())
                 : words;
}

}  // namespace ropewalk
