#include "ropewalk/model/architecture.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ropewalk/base/error.h"

// Includes every file of CMake's list, with the function that ROPEWALK_FAMILY defines in it.
#define ROPEWALK_LISTED(file)           \
  namespace ropewalk::families {        \
  std::span<const Architecture> file(); \
  }
#include "ropewalk/model/families.inc"
#undef ROPEWALK_LISTED

namespace ropewalk {
namespace {

const std::vector<const Architecture*>& all() {
  static const std::vector<const Architecture*> kAll = [] {
    std::vector<const Architecture*> found;
    for (const auto family : {
#define ROPEWALK_LISTED(file) families::file(),
#include "ropewalk/model/families.inc"
#undef ROPEWALK_LISTED
         }) {
      for (const Architecture& architecture : family) found.push_back(&architecture);
    }
    return found;
  }();
  return kAll;
}

const Architecture* find(const std::string& model_type) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Architecture* a) {
    return a->model_type == model_type;
  });
  return found == all().end() ? nullptr : *found;
}

void refuse_quantized(const JsonReader& config) {
  if (!config.has("quantization_config")) return;
  const std::string method = config.object("quantization_config").text("quant_method", "unknown");
  throw InputError(
      "{}: key 'quantization_config': the weights are quantized ({}), expected float32, float16 or "
      "bfloat16; measure them with capture --backend transformers (in an experiment: backend: "
      "transformers)",
      config.source(), method);
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const Architecture* architecture : all()) names.emplace_back(architecture->model_type);
  std::sort(names.begin(), names.end());
  return names;
}

TextModel read_text_model(const JsonReader& config) {
  // Models with a vision part keep the language model's settings in an object of their own.
  const JsonReader text = config.has("text_config") ? config.object("text_config") : config;
  const std::string model_type = text.text("model_type", config.text("model_type", ""));
  const Architecture* architecture = find(model_type);
  if (architecture == nullptr) {
    throw InputError(
        "{}: model_type '{}' is not supported; supported are {}; any other can be measured with "
        "capture --backend transformers (in an experiment: backend: transformers)",
        config.source(), model_type, fmt::join(supported_architectures(), ", "));
  }
  refuse_quantized(config);
  refuse_quantized(text);
  TextModel model{architecture, architecture->configure(text)};
  model.config.architecture = model_type;
  for (const JsonReader& part : {text, config}) {  // a statement about the whole model wins
    constexpr const char* kTied = "tie_word_embeddings";
    if (part.has(kTied)) model.config.head.tied = part.flag(kTied, false);
  }
  return model;
}

}  // namespace ropewalk
