#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/study/open_model.h"

namespace ropewalk {

struct CaptureOptions {
  ModelOptions model;
  std::filesystem::path corpus;
  std::filesystem::path out;
  std::optional<std::filesystem::path> tokenizer;  // default: beside the weights
  std::string label;                               // default: the model folder's name
  std::optional<int64_t> documents;                // default: all that are long enough
  std::optional<int64_t> min_tokens;               // default: the context
  bool pre_rope = false;
  std::optional<std::string> vectors;              // uniform, log-uniform or all
  double rate = 1;                                 // expected tokens a bucket
  int64_t bucket_size = 0;                         // tokens; 0: context / 16
};

// Runs the corpus through the model and writes `out`: vectors/ in the published layout and capture.json.
// `out` appears only when everything is in it.
void capture(const CaptureOptions& options);

}  // namespace ropewalk
