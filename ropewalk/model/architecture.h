#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/weights.h"

namespace ropewalk {

// A model family: how its config.json reads and which tensors a layer has. Everything else is data
// in ModelConfig, and there is one forward pass for all families. docs/architectures.md says how to
// add one.
struct Architecture {
  std::string_view model_type;
  ModelConfig (*configure)(const JsonReader& config) = nullptr;
  std::vector<TensorSpec> (*layer_tensors)(const ModelConfig& config) = nullptr;
  // For mixtures: the tensors of one expert, named like a layer's.
  std::vector<TensorSpec> (*expert_tensors)(const ModelConfig& config, int64_t expert) = nullptr;
  // The parts of tensor names: root + embedding, root + layers + "7." + a layer's tensor. A model
  // that was saved without its head, or inside a larger one, has another root.
  std::string_view root = "model.";
  std::string_view layers = "layers.";
  std::string_view embedding = "embed_tokens.weight";
  std::string_view position_embedding = {};  // added to the embedding, by position
  std::string_view embedding_norm = {};  // a LayerNorm of the sum, without ".weight" and ".bias"
  std::string_view final_norm = "norm";  // after the root, without ".weight" and ".bias"
  std::string_view head = "lm_head.weight";  // without the root
  bool tied_head = false;  // the head is the embedding table, unless config.json says otherwise
};

// The text model inside a checkpoint: its family and its part of config.json.
struct TextModel {
  const Architecture* architecture = nullptr;
  ModelConfig config;
};

// Throws InputError naming the model_type and the supported ones.
TextModel read_text_model(const JsonReader& config);

// All supported model_types, sorted.
std::vector<std::string> supported_architectures();

}  // namespace ropewalk

// Every file of architectures/ ends with this macro and is in the list of CMakeLists.txt. Arguments
// are its name, and an Architecture for each model_type. Its other code is in the namespace
// NAME_family.
#define ROPEWALK_FAMILY(file, ...)                              \
  namespace ropewalk::families {                                \
  std::span<const Architecture> file() {                        \
    using namespace file##_family;                              \
    static const std::vector<Architecture> kTypes{__VA_ARGS__}; \
    return kTypes;                                              \
  }                                                             \
  }
