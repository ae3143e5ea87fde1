#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/companion/companion.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/moments/capture_info.h"

namespace ropewalk {

struct ModelOptions;

// What may run a model: auto is our own pass, which names the other where it lacks the family.
inline constexpr std::array<std::string_view, 3> kBackends{"auto", "ropewalk", "transformers"};
inline constexpr std::string_view kTransformers = "transformers";

// A model that the library transformers runs, in the companion (companion/model.py).
struct BackendModel {
  // The layers, heads and windows; all else too where we have the family, with its `architecture`.
  TextModel text;
  CaptureInfo::Backend backend;
  std::string model_class;  // transformers' name of its class
  Json described;           // as describe_config describes a model that we run
  // config.json where it tells how RoPE turned queries and keys, so that they can be turned back.
  std::string rope_config;
  int64_t elements = 0;  // of all parameters
};

// Asks the companion what the model is like. `config`: its config.json, with overrides applied.
// Throws InputError where transformers cannot run it or its attention cannot be seen, and
// SystemError where a package is missing; each says what to do. Answers are kept.
std::shared_ptr<const BackendModel> describe_backend_model(const ModelOptions& options,
                                                           const JsonReader& config);

// The request that names a model to the companion; callers add what they want.
Json backend_request(const ModelOptions& options, const JsonReader& config, const char* what);

// Rethrows what the companion could not do with the model of this name.
[[noreturn]] void throw_backend_error(const std::string& model, const CompanionFailure& failure);

}  // namespace ropewalk
