#include "ropewalk/study/capture/backend_session.h"

#include <set>
#include <utility>

#include "ropewalk/base/log.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/moments/tensors/tensor_shape.h"
#include "ropewalk/study/capture/backend_capture.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk {
namespace {

Json request(const char* what) { return {{"do", what}, {"version", version()}}; }

// Packed weights take what their files take.
int64_t needed_bytes(const OpenModel& model, const JsonReader& config) {
  if (config.has("quantization_config")) return model.checkpoint->size();
  return model.backend->elements * static_cast<int64_t>(c10::elementSize(model.dtype));
}

// The sizes of the moments, the layers and heads that are measured, and what is kept of them.
Json make_plan(const CaptureOptions& options, const OpenModel& model,
               std::span<const Document> documents) {
  const ModelConfig& config = model.text.config;
  TensorShape::Planned planned;
  planned.context = model.context;
  planned.documents = documents.empty() ? 0 : documents.back().index + 1;
  planned.heads = model.heads;
  Json measured = Json::array(), scales = Json::object();
  std::set<int64_t> layers;
  for (const QueryHead& head : model.heads) layers.insert(head.layer);
  for (const int64_t layer : layers) {
    const LayerConfig& settings = config.layers[static_cast<size_t>(layer)];
    measured.push_back(layer);
    scales[std::to_string(layer)] = settings.attention_scale.value_or(config.attention_scale);
    if (settings.window) planned.windows[layer] = *settings.window;
  }
  for (const Document& document : documents) {
    if (document.cluster) planned.clusters[document.index] = *document.cluster;
  }
  return {{"layers", config.n_layers},
          {"q_heads", config.n_q_heads},
          {"kv_heads", config.n_kv_heads},
          {"d_head", config.d_head},
          {"blocks", options.blocks},
          {"scale", config.attention_scale},
          {"config", model.backend->rope_config},
          {"measured", measured},
          {"scales", scales},
          {"planned", planned_json(planned, backend_keep(options.keep, model))}};
}

}  // namespace

BackendSession::BackendSession(const CaptureOptions& options, const OpenModel& model,
                               std::span<const Document> documents,
                               const std::filesystem::path& offload)
    : label_(fmt::format("'{}'", options.label)) {
  const ModelOptions& source = options.model;
  if (source.trust_remote_code) {
    log::warning(
        "trust_remote_code: true: Python code in {} runs on this machine, with all your rights",
        source.model.string());
  }
  const JsonReader config =
      override_config(*source.headers->json(source.model / "config.json"), source.config);
  Json words = backend_request(source, config, "load");
  words["dtype"] = dtype_name(model.dtype);
  words["device"] = model.device.str();
  words["memory"] = model.memory;
  words["needed"] = needed_bytes(model, config);
  words["offload"] = std::filesystem::absolute(offload).string();
  words["random"] = source.random ? Json(*source.random) : Json();
  words["threads"] = at::get_num_threads();
  words["plan"] = make_plan(options, model, documents);
  try {
    ask(std::move(words));
  } catch (...) {
    end_model_companion();
    throw;
  }
}

BackendSession::~BackendSession() {
  if (!finished_) end_model_companion();
}

Companion::Ticket BackendSession::send(const Document& document) {
  CompanionMessage message{request("document"), {}};
  message.words["index"] = document.index;
  message.arrays["ids"].assign(reinterpret_cast<const char*>(document.tokens.data()),
                               document.tokens.size() * sizeof(int32_t));
  return model_companion().send("model", std::move(message));
}

void BackendSession::receive(const Companion::Ticket& ticket) {
  try {
    model_companion().receive(ticket);
  } catch (const CompanionFailure& failure) {
    throw_backend_error(label_, failure);
  }
}

void BackendSession::save(const std::filesystem::path& folder) {
  Json words = request("save");
  words["folder"] = std::filesystem::absolute(folder).string();
  ask(std::move(words));
}

void BackendSession::finish() {
  ask(request("drop"));
  finished_ = true;
}

void BackendSession::ask(Json words) {
  receive(model_companion().send("model", {std::move(words), {}}));
}

}  // namespace ropewalk
