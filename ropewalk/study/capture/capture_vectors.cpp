#include "ropewalk/study/capture/capture_vectors.h"

#include <algorithm>
#include <chrono>

#include "ropewalk/analysis/analyze/vectors_moments.h"
#include "ropewalk/analysis/analyze/vectors_streams.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/tap.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The description of the model: its config with overrides, else what the vectors state.
Json describe_model(const VectorsOptions& options, const VectorsSource& source) {
  int64_t layers = 0;
  for (const auto& [key, file] : source.streams) layers = std::max<int64_t>(layers, key.layer + 1);
  if (!options.model) {
    const VectorsFacts facts = facts_of(source);
    return {{"layers", layers},
            {"n_q_heads", facts.n_q_heads},
            {"n_kv_heads", facts.n_kv_heads},
            {"nope_layers", Json::array()}};
  }
  const JsonReader file(*options.model / "config.json");
  const ModelConfig config = read_text_model(override_config(file, options.config)).config;
  if (layers > config.n_layers) {
    throw InputError("{}: has vectors of layer {}, but the model has {} layers", source.title,
                     layers - 1, config.n_layers);
  }
  return describe_config(config);
}

std::string default_label(const std::string& from) {
  if (!is_hub_uri(from)) return fs::absolute(from).lexically_normal().filename().string();
  const HubUri uri = parse_hub_uri(from, "hf://datasets/org/name@revision");
  const std::string& id = uri.repository.id;
  return uri.revision == "main" ? id.substr(id.find('/') + 1) : uri.revision;
}

class VectorsCapture : public MeasuredCapture {
 public:
  VectorsCapture(fs::path out, CaptureMoments moments)
      : out_(std::move(out)), moments_(std::move(moments)) {}

  int64_t bytes() const override {
    int64_t sum = 0;
    for (const AccumulatedFields& kept : moments_.accumulated) {
      for (const auto* tensors : {&kept.total, &kept.blocks}) {
        for (const at::Tensor& tensor : *tensors) sum += static_cast<int64_t>(tensor.nbytes());
      }
    }
    return sum;
  }
  bool in_memory() const override { return true; }
  CaptureMoments moments() const override { return rounded_to_file(moments_); }
  CaptureInfo write() override {
    const UninterruptedScope unhurried;
    AtomicFolder folder(out_);
    write_moments(folder.path() / kMomentsName, moments_);
    CaptureInfo written = describe_in(folder.path(), moments_.info);
    folder.commit();
    return written;
  }

 private:
  fs::path out_;
  CaptureMoments moments_;
};

}  // namespace

FoundVectors describe_vectors(const VectorsOptions& options) {
  FoundVectors found{find_vectors(options.from), {}};
  const VectorsSource& source = found.source;
  CaptureInfo& info = found.info;
  info.config = describe_model(options, source);
  require_keys(source, info.config.n_q_heads / info.config.n_kv_heads);
  info.ropewalk = version();
  info.model = !options.model_name.empty() ? options.model_name
               : source.repository         ? source.repository->id
                                           : source.folder.filename().string();
  info.label = options.label;
  if (source.repository) info.hub = source.name();
  info.weights = source.digest();
  info.point = kPostRope;
  info.context = options.context;
  info.blocks = kVectorBlocks;
  for (const auto& [key, file] : source.streams) {
    if (key.kind == StreamKind::query) info.heads.push_back({key.layer, key.head});
  }
  return found;
}

std::unique_ptr<MeasuredCapture> measure_vectors(const FoundVectors& vectors, const fs::path& out,
                                                 const std::string& title) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress(title, "streams", static_cast<int64_t>(vectors.source.streams.size()));
  CaptureMoments moments =
      moments_of_vectors(vectors.source.folder, vectors.info, [&] { progress.advance(1); });
  progress.finish();
  CaptureInfo& info = moments.info;
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  log::info("{}: {}, {}, {} tokens", info.label,
            format_number_of(static_cast<int64_t>(info.heads.size()), "head"),
            format_number_of(info.documents, "document"), info.tokens);
  return std::make_unique<VectorsCapture>(out, std::move(moments));
}

void capture_vectors(VectorsOptions options, const std::string& model, const std::string& revision,
                     const fs::path& out) {
  refuse_used_folder(out);
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) {
    options.model = model;
    options.model_name = fs::absolute(model).lexically_normal().filename().string();
  } else if (!model.empty()) {
    if (!is_hub_id(model)) {
      throw UsageError("{}: is neither a folder nor a Hub model (org/name)", model);
    }
    options.model =
        find_checkpoint(shared_hub(), model, revision.empty() ? "main" : revision).folder;
    options.model_name = model;
  }
  if (options.label.empty()) options.label = default_label(options.from);
  const FoundVectors found = describe_vectors(options);
  fetch_vectors(shared_hub(), found.source, {options.label + ": download", true, {}});
  measure_vectors(found, out, "capture")->write();
}

}  // namespace ropewalk
