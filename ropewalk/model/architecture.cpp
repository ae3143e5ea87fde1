#include "ropewalk/model/architecture.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

const std::array kAll{&kApertus, &kGemma3, &kGlm,   &kGlm4,  &kGptNeox, &kLlama, &kMinistral3,
                      &kMistral, &kMllama, &kOlmo2, &kOlmo3, &kQwen2,   &kQwen3, &kSmollm3};

const Architecture* find(const std::string& model_type) {
  const auto found = std::find_if(
      kAll.begin(), kAll.end(), [&](const Architecture* a) { return a->model_type == model_type; });
  return found == kAll.end() ? nullptr : *found;
}

}  // namespace

std::vector<std::string> supported_architectures() {
  std::vector<std::string> names;
  for (const Architecture* architecture : kAll) names.emplace_back(architecture->model_type);
  std::sort(names.begin(), names.end());
  return names;
}

TextModel read_text_model(const ConfigFile& config) {
  // Models with a vision part keep the language model's settings in an object of their own.
  const ConfigFile text = config.has("text_config") ? config.object("text_config") : config;
  const std::string model_type = text.text("model_type", config.text("model_type", ""));
  const Architecture* architecture = find(model_type);
  if (architecture == nullptr) {
    throw InputError("{}: model_type '{}' is not supported; supported are {}", config.source(),
                     model_type, fmt::join(supported_architectures(), ", "));
  }
  TextModel model{architecture, architecture->configure(text)};
  model.config.architecture = model_type;
  return model;
}

}  // namespace ropewalk
