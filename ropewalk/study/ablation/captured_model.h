#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Opens the model of a capture to run it again in the same way: the same weights, config, dtype and
// context, up to the logits.
struct CapturedModelOptions {
  std::optional<std::string> model;  // a folder or Hub model, where it was moved
  std::string revision;              // revision of a Hub model
  std::string device = "auto";
  std::optional<int64_t> memory;
};

// `source` names the capture in errors. Throws InputError where the model is not found, or where
// its config is not the captured model's.
OpenModel open_captured_model(const CaptureInfo& capture, const std::string& source,
                              const CapturedModelOptions& options);

// The options with which the model of a capture is opened.
ModelOptions captured_model_options(const CaptureInfo& capture, const std::string& source,
                                    const CapturedModelOptions& options);

// Throws InputError where the effective config of a model differs from the capture's.
void require_captured_config(const OpenModel& model, const CaptureInfo& capture,
                             const std::string& source);
// Reads all weights that queries and keys need, and those of the head where the capture has the
// loss. Throws InputError where they differ from the capture's.
void require_captured_weights(const WeightReader& weights, const CaptureInfo& capture,
                              const std::string& source);

}  // namespace ropewalk
