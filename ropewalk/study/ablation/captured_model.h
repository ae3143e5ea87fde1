#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// The model of a capture, opened to run it once more as it was: the same weights, config, dtype and
// context, through to the logits.
struct CapturedModelOptions {
  std::optional<std::string> model;  // a folder or Hub model, where it moved
  std::string revision;              // of a Hub model
  std::string device = "auto";
  std::optional<int64_t> memory;
};

// `source` names the capture in errors. Throws InputError where the model is not where it was, or
// is another one by its config.
OpenModel open_captured_model(const CaptureInfo& capture, const std::string& source,
                              const CapturedModelOptions& options);

// What the model of a capture is opened with.
ModelOptions captured_model_options(const CaptureInfo& capture, const std::string& source,
                                    const CapturedModelOptions& options);

// Throws InputError where a model's config, as it is computed with, is not the capture's.
void require_captured_config(const OpenModel& model, const CaptureInfo& capture,
                             const std::string& source);
// Reads all weights that queries and keys need, and those of the head where the capture has the
// loss. Throws InputError where they are not the capture's.
void require_captured_weights(const WeightReader& weights, const CaptureInfo& capture,
                              const std::string& source);

}  // namespace ropewalk
