#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/checkpoint/config_file.h"
#include "ropewalk/model/config.h"
#include "ropewalk/model/weights.h"

namespace ropewalk {

// A model family: how its config.json reads and which tensors a layer has. Everything else is data
// in ModelConfig, and the forward pass is one for all. To add a family, see docs/architectures.md.
struct Architecture {
  std::string_view model_type;
  ModelConfig (*configure)(const ConfigFile& config);
  std::vector<TensorSpec> (*layer_tensors)(const ModelConfig& config);
  std::string_view embedding = "embed_tokens.weight";
};

// The text model inside a checkpoint: its family and its part of config.json.
struct TextModel {
  const Architecture* architecture = nullptr;
  ModelConfig config;
};

// Throws InputError naming the model_type and the supported ones.
TextModel read_text_model(const ConfigFile& config);

// All supported model_types, sorted.
std::vector<std::string> supported_architectures();

// One definition each in architectures/.
extern const Architecture kApertus, kGemma3, kGlm, kGlm4, kGptNeox, kLlama, kMinistral3, kMistral,
    kMllama, kOlmo2, kOlmo3, kQwen2, kQwen3, kSmollm3;

}  // namespace ropewalk
