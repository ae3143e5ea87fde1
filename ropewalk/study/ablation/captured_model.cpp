#include "ropewalk/study/ablation/captured_model.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/moments/describe_difference.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Parses "org/name@COMMIT/SUBFOLDER".
HubCheckpoint find_on_hub(const std::string& name) {
  const size_t at = name.find('@');
  const size_t slash = name.find('/', at == name.npos ? 0 : at);
  const bool inside = at != name.npos && slash != name.npos;
  return find_checkpoint(
      shared_hub(), name.substr(0, at),
      at == name.npos ? "main" : name.substr(at + 1, inside ? slash - at - 1 : name.npos),
      inside ? name.substr(slash + 1) : "");
}

void locate_captured(ModelOptions& model, const CaptureInfo& capture, const std::string& source) {
  if (!capture.hub.empty()) {
    model.hub = find_on_hub(capture.hub);
    model.model = model.hub->folder;
    fetch_tokenizer(shared_hub(), *model.hub);
    fetch_weights(shared_hub(), *model.hub, {model.hub->repository.id, true, {}});
    return;
  }
  if (!capture.source || capture.source->model.empty()) {
    throw InputError("{}: does not state where its model is; name the model with --model", source);
  }
  model.model = capture.source->model;
  std::error_code ignored;
  if (fs::exists(model.model, ignored)) return;
  throw InputError("{}: its model is no longer at {}; give its new path with --model", source,
                   capture.source->model);
}

}  // namespace

ModelOptions captured_model_options(const CaptureInfo& capture, const std::string& source,
                                    const CapturedModelOptions& options) {
  if (capture.backend) {
    throw InputError(
        "{}: was measured with {}, but this needs Ropewalk's own pass; capture it again with "
        "--backend ropewalk, where the family is one of ours",
        source, capture.backend->text());
  }
  ModelOptions model;
  model.context = capture.context;
  model.sliding = true;
  model.head = true;
  model.device = options.device;
  model.dtype = capture.dtype.empty() ? "auto" : capture.dtype;
  model.memory = options.memory;
  model.random = capture.random;
  if (capture.source) model.config = capture.source->config;
  if (options.model) {
    model.model = *options.model;
    locate_model(model, options.revision);
  } else if (!options.revision.empty()) {
    throw UsageError("--revision {}: needs --model, which is not given", options.revision);
  } else {
    locate_captured(model, capture, source);
  }
  return model;
}

OpenModel open_captured_model(const CaptureInfo& capture, const std::string& source,
                              const CapturedModelOptions& options) {
  OpenModel model = open_model(captured_model_options(capture, source, options));
  require_captured_config(model, capture, source);
  return model;
}

void require_captured_config(const OpenModel& model, const CaptureInfo& capture,
                             const std::string& source) {
  const auto deciding = [&](const Json& config) {
    return deciding_config(config, capture.context, capture.random.has_value());
  };
  const Json captured = deciding(capture.config.json());
  const Json found = deciding(describe_config(model.text.config));
  if (captured == found) return;
  throw InputError("{}: belongs to another model than {}: {}", source, model.name,
                   describe_difference({{"config", captured}}, {{"config", found}}));
}

void require_captured_weights(const WeightReader& weights, const CaptureInfo& capture,
                              const std::string& source) {
  if (capture.weights.empty()) {
    throw InputError("{}: does not state the digest of its weights; capture it again", source);
  }
  Extent measured{0, Needed::qk};
  for (const QueryHead& head : capture.heads) {
    measured.last_layer = std::max<int64_t>(measured.last_layer, head.layer);
  }
  const bool same =
      weights.digest(measured) == capture.weights &&
      (capture.head_weights.empty() || weights.digest_beyond(measured) == capture.head_weights);
  if (same) return;
  throw InputError(
      "{}: was made from other weights than these; name the right model with --model, or capture "
      "this one",
      source);
}

}  // namespace ropewalk
