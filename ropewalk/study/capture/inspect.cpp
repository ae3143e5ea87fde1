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

namespace ropewalk {
namespace {

// The program's code, torch's and Arrow's libraries and their start-up state, measured on x86-64
// Linux (tests/golden/model/test_models.py compares), with the buffer of the vectors writer.
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

int64_t collecting(const OpenModel& model) {
  const CaptureShape shape = collector_options({}, model, {}).shape(model.text.config.d_head);
  return moments_workspace(model.text.config, shape, model.context, model.dtype, model.device);
}

MemoryNeeds weight_needs(const OpenModel& model) {
  return memory_needs(model.text.config, model.weights(), model.context, collecting(model));
}

}  // namespace

// Multiply-adds of one document, twice: projections and MLP by weights, attention by the causal
// half.
double flops_per_document(const OpenModel& model) {
  const ModelConfig& c = model.text.config;
  const auto tokens = static_cast<double>(model.context);
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
                                                          model.device, collecting(model))},
                    {"program_bytes", kProgram + kVectorsBuffer}};
  json["flops_per_document"] = flops_per_document(model);
  return json;
}

std::string format_inspection(const Json& j) {
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  const auto bytes = [](const Json& value) { return format_bytes(value.get<int64_t>()); };
  line("model",
       fmt::format("{} ({})", j["model"].get<std::string>(), j["architecture"].get<std::string>()));
  line("layers", fmt::format("{}, d_model {}, d_mlp {}", j["layers"].get<int64_t>(),
                             j["d_model"].get<int64_t>(), j["d_mlp"].get<int64_t>()));
  if (const Json& mixture = j["mixture"]; !mixture.is_null()) {
    line("experts",
         fmt::format("{} of {} for each token, d_expert {}, in layers {}",
                     mixture["n_chosen"].get<int64_t>(), mixture["n_experts"].get<int64_t>(),
                     mixture["d_expert"].get<int64_t>(),
                     ranges(j["mixture_layers"].get<std::vector<int64_t>>())));
  }
  line("heads", fmt::format("{} query, {} key, {} dimensions each", j["n_q_heads"].get<int64_t>(),
                            j["n_kv_heads"].get<int64_t>(), j["head_dim"].get<int64_t>()));
  for (const Json& rope : j["rope"]) {
    std::string value =
        fmt::format("{}, theta {}, {} dimensions{}", rope["type"].get<std::string>(),
                    rope["theta"].get<double>(), rope["rotary_dim"].get<int64_t>(),
                    rope["interleaved"].get<bool>() ? ", interleaved" : "");
    if (rope.contains("factor")) value += fmt::format(", factor {}", rope["factor"].get<double>());
    line("RoPE", value);
  }
  line("NoPE layers", ranges(j["nope_layers"].get<std::vector<int64_t>>()));
  if (!j["skipped_layers"].empty()) {
    line("skipped", ranges(j["skipped_layers"].get<std::vector<int64_t>>()) + " (cross-attention)");
  }
  line("sliding", j["sliding_windows"].empty()
                      ? "none"
                      : fmt::format("layers {} at context {}",
                                    ranges(j["sliding_layers"].get<std::vector<int64_t>>()),
                                    j["context"].get<int64_t>()));
  line("context", fmt::format("{} tokens (max_position_embeddings {})", j["context"].get<int64_t>(),
                              j["max_position_embeddings"].get<int64_t>()));
  line("measured", fmt::format("{} query heads, layers 0–{}", j["heads"].get<int64_t>(),
                               j["last_layer"].get<int64_t>()));
  line("weights",
       fmt::format("{} in {} file(s); {} needed", bytes(j["weights"]["file_bytes"]),
                   j["weights"]["files"].get<int64_t>(), bytes(j["weights"]["needed_bytes"])));
  line("arithmetic",
       fmt::format("{} on {} ({})", j["dtype"].get<std::string>(), j["device"].get<std::string>(),
                   j["dtype_reason"].get<std::string>()));
  const Json& memory = j["memory"];
  line("memory",
       fmt::format("budget {}: {} of weights ({}), {} of moments{}, {} documents at a time",
                   bytes(memory["budget_bytes"]), bytes(memory["weights_bytes"]),
                   memory["weights_streamed"].get<bool>() ? "streamed" : "kept",
                   bytes(memory["moments_bytes"]),
                   memory["moments_spooled_bytes"] == 0
                       ? ""
                       : fmt::format(" (and {} on disk)", bytes(memory["moments_spooled_bytes"])),
                   memory["documents_per_group"].get<int64_t>()));
  // On a GPU the budget covers activations.
  line("", fmt::format("{}: {} for activations; {} for the program",
                       j["device"] == "cuda" ? "of it" : "on top",
                       bytes(memory["activations_bytes"]), bytes(memory["program_bytes"])));
  line("", fmt::format("of hidden states, a document takes {}, and each edit of it as much again",
                       bytes(memory["hidden_bytes_per_document"])));
  line("cost",
       fmt::format("{:.3g} TFLOP a document", j["flops_per_document"].get<double>() / 1e12));
  return text;
}

}  // namespace ropewalk
