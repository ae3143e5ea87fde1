#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/source/vectors_source.h"

namespace ropewalk {

// Captured vectors from which a capture is made: the values of `capture --vectors-from` and of an
// experiment's `vectors:`.
struct VectorsOptions {
  std::string from;  // a folder, or hf://datasets/…
  // Folder of the config.json that completes the vectors' own description; the model's name, and
  // overrides of the config.
  std::optional<std::filesystem::path> model;
  std::string model_name;  // default: the name that the vectors state
  Json config = Json::object();
  std::string label;
  int64_t context = 0;  // 0: unknown
};

// The vectors' files, and the description that a capture of them will have.
struct FoundVectors {
  VectorsSource source;
  CaptureInfo info;  // without documents and tokens, which are known after reading
};

// Lists vectors without reading them. Throws InputError where some are missing, or where they
// belong to another model.
FoundVectors describe_vectors(const VectorsOptions& options);

// Computes their moments, as if a model had been measured. The vectors must have been fetched.
std::unique_ptr<MeasuredCapture> measure_vectors(const FoundVectors& vectors,
                                                 const std::filesystem::path& out,
                                                 const std::string& title);

// Does all of this for `capture --vectors-from`: fetches, measures and writes `out`. A non-empty
// `model` is a folder or a Hub model, whose config at `revision` is fetched. The default label is
// the folder's name or the revision.
void capture_vectors(VectorsOptions options, const std::string& model, const std::string& revision,
                     const std::filesystem::path& out);

}  // namespace ropewalk
