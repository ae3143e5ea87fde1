#include "ropewalk/study/capture/inspect.h"

#include <fmt/ranges.h>

#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/layer.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk {
namespace {

// The program's code, the libraries of torch and Arrow after their start, and the buffer of the
// vectors writer, measured on x86-64 Linux (tests/golden/model/test_models.py compares).
constexpr int64_t kProgram = int64_t{150} << 20;

std::string ranges(const std::vector<int64_t>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i;
    while (end + 1 < layers.size() && layers[end + 1] == layers[end] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end > i ? fmt::format("{}–{}", layers[i], layers[end]) : fmt::format("{}", layers[i]);
    i = end + 1;
  }
  return text.empty() ? "none" : text;
}

int64_t collector_bytes(const OpenModel& model) {
  const CaptureShape shape = collector_options({}, model, {}).shape(model.text.config.d_head);
  return moments_workspace(model.text.config, shape, model.context, model.dtype, model.device);
}

MemoryNeeds weight_needs(const OpenModel& model) {
  return memory_needs(model.text.config, model.weights(), model.context, collector_bytes(model));
}

// The lines of format_inspection().
class Inspection {
 public:
  explicit Inspection(const Json& json) : json_(json) {}

  void add_model() {
    line("model", fmt::format("{} ({})", word(json_["model"]), word(json_["architecture"])));
    line("layers", fmt::format("{}, d_model {}, d_mlp {}", number("layers"), number("d_model"),
                               number("d_mlp")));
    if (const Json& mixture = json_["mixture"]; !mixture.is_null()) {
      line("experts",
           fmt::format("{} of {} for each token, d_expert {}, in layers {}",
                       mixture["n_chosen"].get<int64_t>(), mixture["n_experts"].get<int64_t>(),
                       mixture["d_expert"].get<int64_t>(), layers("mixture_layers")));
    }
    line("heads", fmt::format("{} query, {} key, {} dimensions each", number("n_q_heads"),
                              number("n_kv_heads"), number("head_dim")));
  }

  void add_positions() {
    for (const Json& rope : json_["rope"]) {
      std::string value =
          fmt::format("{}, theta {}, {} dimensions{}", word(rope["type"]),
                      rope["theta"].get<double>(), rope["rotary_dim"].get<int64_t>(),
                      rope["interleaved"].get<bool>() ? ", interleaved" : "");
      if (rope.contains("factor")) {
        value += fmt::format(", factor {}", rope["factor"].get<double>());
      }
      line("RoPE", value);
    }
    line("NoPE layers", layers("nope_layers"));
    if (!json_["skipped_layers"].empty()) {
      line("skipped", layers("skipped_layers") + " (cross-attention)");
    }
    line("sliding", sliding());
    line("context", fmt::format("{} tokens (max_position_embeddings {})", number("context"),
                                number("max_position_embeddings")));
  }

  void add_measurement() {
    line("measured",
         fmt::format("{} query heads, layers 0–{}", number("heads"), number("last_layer")));
    const Json& weights = json_["weights"];
    line("weights", fmt::format("{} in {} file(s); {} needed", bytes(weights["file_bytes"]),
                                weights["files"].get<int64_t>(), bytes(weights["needed_bytes"])));
    line("arithmetic", fmt::format("{} on {} ({})", word(json_["dtype"]), word(json_["device"]),
                                   word(json_["dtype_reason"])));
  }

  void add_memory() {
    const Json& memory = json_["memory"];
    line("memory",
         fmt::format("budget {}: {} of weights ({}), {} of moments{}, {} documents at a time",
                     bytes(memory["budget_bytes"]), bytes(memory["weights_bytes"]),
                     memory["weights_streamed"].get<bool>() ? "streamed" : "kept",
                     bytes(memory["moments_bytes"]),
                     memory["moments_spooled_bytes"] == 0
                         ? ""
                         : fmt::format(" (and {} on disk)", bytes(memory["moments_spooled_bytes"])),
                     memory["documents_per_group"].get<int64_t>()));
    // On a GPU, the budget is for activations only.
    line("", fmt::format("{}: {} for activations; {} for the program",
                         json_["device"] == "cuda" ? "of it" : "on top",
                         bytes(memory["activations_bytes"]), bytes(memory["program_bytes"])));
    line("cost", fmt::format("{:.3g} TFLOP per document",
                             json_["flops_per_document"].get<double>() / 1e12));
  }

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view name, const std::string& value) {
    text_ += fmt::format("{:<14}{}\n", name, value);
  }
  int64_t number(const char* key) const { return json_[key].get<int64_t>(); }
  std::string sliding() const {
    if (json_["sliding_windows"].empty()) return "none";
    const std::string windows =
        fmt::format("windows shorter than the context of {} tokens", number("context"));
    if (json_["sliding_layers"].empty()) return "no layer has " + windows;
    return fmt::format("layers {} have {}", layers("sliding_layers"), windows);
  }
  std::string layers(const char* key) const {
    return ranges(json_[key].get<std::vector<int64_t>>());
  }
  static std::string word(const Json& value) { return value.get<std::string>(); }
  static std::string bytes(const Json& value) { return format_bytes(value.get<int64_t>()); }

  const Json& json_;
  std::string text_;
};

}  // namespace

// Floating-point operations for one document: two per multiply-add, counting projections and MLP by
// their weights and attention by the causal half.
double flops_per_document(const OpenModel& model) {
  const ModelConfig& c = model.text.config;
  const auto tokens = static_cast<double>(model.context);
  // What transformers' layers compute is not known here: every parameter counts once per token.
  if (model.backend) return 2 * tokens * static_cast<double>(model.backend->elements);
  double flops = 0;
  for (int64_t i = 0; i <= model.extent().last_layer; ++i) {
    const LayerConfig& layer = c.layers[static_cast<size_t>(i)];
    if (!layer.self_attention) continue;
    const auto model_width = static_cast<double>(c.d_model);
    const auto qk = static_cast<double>(c.q_width() + c.kv_width());
    flops += 2 * tokens * model_width * qk;
    if (model.extent().of(i) == Needed::qk) continue;
    const double span =
        layer.window ? std::min(tokens, static_cast<double>(*layer.window)) : tokens;
    const auto width = static_cast<double>(c.q_width());
    const double gate = c.gated ? 3 : 2;
    const auto mlp_width =
        static_cast<double>(layer.mixture ? c.mixture->n_chosen * c.mixture->d_expert : c.d_mlp);
    flops += 2 * tokens * model_width * (static_cast<double>(c.kv_width()) + width) +
             2 * tokens * model_width * mlp_width * gate +
             2 * 2 * width * span * (tokens - span / 2);
  }
  if (model.head) flops += 2 * tokens * static_cast<double>(c.d_model * c.vocabulary_size);
  return flops;
}

int64_t needed_weights(const OpenModel& model) {
  if (model.backend) return model.checkpoint->size();
  const MemoryNeeds needs = weight_needs(model);
  return std::accumulate(needs.layer_bytes.begin(), needs.layer_bytes.end(), int64_t{0});
}

Json inspect_model(const OpenModel& model) {
  const ModelConfig& config = model.text.config;
  const WeightReader weights = model.weights();
  const int64_t hidden = model.context * bytes_per_token(config, weights.element_size());
  MemoryNeeds needs = weight_needs(model);
  const MomentsBytes moments = moments_bytes(config, model.heads, collector_options({}, model, {}));
  needs.reserved = moments.held(model.memory);
  Json json = describe_config(config);
  json["model"] = printable(model.name);
  json["context"] = model.context;
  json["dtype"] = dtype_name(model.dtype);
  json["dtype_reason"] = model.dtype_reason;
  json["device"] = model.device.is_cuda() ? "cuda" : "cpu";
  json["heads"] = model.heads.size();
  json["last_layer"] = model.last_layer;
  json["sliding_layers"] = model.sliding_layers;
  json["weights"] = {{"files", model.checkpoint->shards().size()},
                     {"file_bytes", model.checkpoint->size()},
                     {"needed_bytes", needed_weights(model)}};
  const MemoryPlan plan = plan_memory(needs, model.memory);
  json["memory"] = {{"budget_bytes", model.memory},
                    {"weights_bytes", plan.weights},
                    {"weights_streamed", !plan.keep_weights},
                    {"moments_bytes", needs.reserved},
                    {"moments_spooled_bytes", moments.all - needs.reserved},
                    {"hidden_bytes_per_document", hidden},
                    {"documents_per_group", std::max<int64_t>(1, plan.hidden_budget / hidden)},
                    {"activations_bytes", layer_workspace(config, model.context, model.dtype,
                                                          model.device, collector_bytes(model))},
                    {"program_bytes", kProgram + kVectorsBuffer}};
  json["flops_per_document"] = flops_per_document(model);
  return json;
}

std::string format_inspection(const Json& json) {
  Inspection inspection(json);
  inspection.add_model();
  inspection.add_positions();
  inspection.add_measurement();
  inspection.add_memory();
  return inspection.text();
}

}  // namespace ropewalk
