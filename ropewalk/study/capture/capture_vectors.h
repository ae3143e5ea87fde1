#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/source/vectors_source.h"

namespace ropewalk {

// Captured vectors, to be made a capture: what `capture --vectors-from` and an experiment's
// `vectors:` name.
struct VectorsOptions {
  std::string from;  // a folder, or hf://datasets/…
  // Folder of the config.json that says of their model what they do not; its name, and overrides of
  // the config.
  std::optional<std::filesystem::path> model;
  std::string model_name;  // default: that of the vectors
  Json config = Json::object();
  std::string label;
  int64_t context = 0;  // 0: not known
};

// Where they are, and what a capture of them will say of itself.
struct FoundVectors {
  VectorsSource source;
  CaptureInfo info;  // without documents and tokens, which are known once they are read
};

// Lists vectors and reads nothing of them. Throws InputError where they are not whole, or of
// another model.
FoundVectors describe_vectors(const VectorsOptions& options);

// Their moments, as if a model had been measured. They must have been fetched.
std::unique_ptr<MeasuredCapture> measure_vectors(const FoundVectors& vectors,
                                                 const std::filesystem::path& out,
                                                 const std::string& title);

// All of it, for `capture --vectors-from`: fetches, measures and writes `out`. `model`, where it is
// not empty, is a folder or a Hub model, of which the config at `revision` is fetched; without a
// label, it is the folder's name or the revision.
void capture_vectors(VectorsOptions options, const std::string& model, const std::string& revision,
                     const std::filesystem::path& out);

}  // namespace ropewalk
