#include "ropewalk/study/source/locate.h"

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/hub_headers.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMain = "main";

bool path_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Finds a model; the config of a Hub model is fetched.
void find_model(ModelOptions& options, const std::string& revision) {
  const std::string name = options.model.string();
  if (path_exists(options.model) || !is_hub_id(name)) {
    if (revision.empty()) return;
    throw UsageError("--revision {}: is for Hub models, but {} is a folder", revision, name);
  }
  try {
    options.hub = find_checkpoint(shared_hub(), name, revision.empty() ? kMain : revision);
  } catch (const InputError& error) {
    throw InputError("{} is not a folder, and {}", name, error.what());
  }
  options.model = options.hub->folder;
}

}  // namespace

Hub& shared_hub() {
  static Hub hub;
  return hub;
}

void locate_model(ModelOptions& options, const std::string& revision) {
  find_model(options, revision);
  if (!options.hub) return;
  fetch_tokenizer(shared_hub(), *options.hub);
  fetch_weights(shared_hub(), *options.hub, {options.hub->repository.id, true, {}});
}

OpenModel open_for_inspection(const ModelOptions& options, const std::string& revision) {
  ModelOptions found = options;
  find_model(found, revision);
  if (!found.hub || has_weights(shared_hub(), *found.hub)) return open_model(found);
  const HubHeaders headers(shared_hub(), *found.hub);
  found.model = headers.folder();
  return open_model(found);
}

fs::path locate_tokenizer(const fs::path& path) {
  if (path_exists(path) || !is_hub_id(path.string())) return path;
  Hub& hub = shared_hub();
  const HubRepository repository{HubRepository::Kind::model, path.string()};
  const std::string commit = hub.commit(repository, kMain, "tokenizer.json");
  const fs::path file = fetch_tokenizer(hub, repository, commit, "", {path.string(), true, {}});
  if (!file.empty()) return file;
  if (hub.settings().offline) {
    throw InputError("{}: holds no tokenizer.json in the cache, and HF_HUB_OFFLINE is set",
                     repository.id);
  }
  throw InputError("{}: holds no tokenizer.json; {}", repository.id, kMakeTokenizerJson);
}

}  // namespace ropewalk
