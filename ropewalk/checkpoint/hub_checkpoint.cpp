#include "ropewalk/checkpoint/hub_checkpoint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/checkpoint/weight_names.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The shards that an index names. Opening the checkpoint checks the rest of the index.
std::vector<std::string> shard_names(const fs::path& index) {
  const JsonReader file(index);
  const JsonReader weight_map = file.object("weight_map");
  std::set<std::string> names;
  for (const auto& [tensor, shard] : weight_map.json().items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") {
      throw InputError("{}: tensor '{}' names shard {}, expected a file name in the same folder",
                       index.string(), tensor, shard.dump());
    }
    names.insert(name);
  }
  return {names.begin(), names.end()};
}

// The names of the repository's weight files as far as the cache knows them; empty where it does
// not.
std::vector<std::string> known_weights(const HubCache& cache, const HubCheckpoint& checkpoint) {
  const std::string& commit = checkpoint.commit;
  for (const WeightNames& kind : kWeightNames) {
    const std::string index = checkpoint.inside(kind.index());
    const std::string single = checkpoint.inside(kind.single());
    if (cache.has(commit, index)) {
      std::vector<std::string> names = shard_names(cache.file(commit, index));
      for (std::string& name : names) name = checkpoint.inside(name);
      return names;
    }
    if (cache.has(commit, single)) return {single};
  }
  return {};
}

// A digest of files' names and etags; empty where one of the etags is not a hash.
std::string digest_of(const std::map<std::string, std::string>& etags) {
  Sha256 digest;
  for (const auto& [name, etag] : etags) {
    if (!is_content_hash(etag)) return "";
    digest.update(fmt::format("{} {}\n", etag, name));
  }
  return etags.empty() ? "" : digest.hex();
}

}  // namespace

std::string HubCheckpoint::name() const {
  return fmt::format("{}@{}{}{}", repository.id, commit, subfolder.empty() ? "" : "/", subfolder);
}

std::string HubCheckpoint::title() const {
  return fmt::format("{}@{}{}{}", repository.id, revision, subfolder.empty() ? "" : "/", subfolder);
}

std::string HubCheckpoint::inside(const std::string& file) const {
  return subfolder.empty() ? file : subfolder + "/" + file;
}

HubCheckpoint find_checkpoint(Hub& hub, const std::string& id, const std::string& revision,
                              const std::string& subfolder) {
  HubCheckpoint found{{HubRepository::Kind::model, id}, revision, "", subfolder, {}};
  const std::string config = found.inside("config.json");
  found.commit = hub.commit(found.repository, revision, config);
  found.folder = hub.cache(found.repository).file(found.commit, config).parent_path();
  if (hub.fetch(found.repository, found.commit, config, {config, false, {}}).empty()) {
    throw InputError("{}: holds no config.json{}", found.title(),
                     hub.settings().offline ? " in the cache, and HF_HUB_OFFLINE is set"
                                            : "; is this a model for transformers?");
  }
  return found;
}

bool has_weights(const Hub& hub, const HubCheckpoint& checkpoint) {
  const HubCache cache = hub.cache(checkpoint.repository);
  const std::vector<std::string> names = known_weights(cache, checkpoint);
  return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return cache.has(checkpoint.commit, name);
  });
}

std::vector<HubFile> missing_weights(Hub& hub, const HubCheckpoint& checkpoint) {
  const HubRepository& repository = checkpoint.repository;
  const std::string& commit = checkpoint.commit;
  const HubCache cache = hub.cache(repository);
  std::vector<std::string> names = known_weights(cache, checkpoint);
  for (const WeightNames& kind : kWeightNames) {
    const std::string index = checkpoint.inside(kind.index());
    if (names.empty() && !hub.fetch(repository, commit, index, {index, false, {}}).empty()) {
      names = known_weights(cache, checkpoint);
    }
    if (!names.empty()) break;
    if (const auto single = hub.find(repository, commit, checkpoint.inside(kind.single()))) {
      return {*single};
    }
  }
  if (names.empty()) {
    throw hub.settings().offline
        ? InputError("{}: {} is not in the cache {}, and HF_HUB_OFFLINE is set", checkpoint.title(),
                     kWeightNames[0].single(), hub.settings().cache.string())
        : InputError("{}: holds neither {} nor {}, nor an index of either's shards",
                     checkpoint.title(), kWeightNames[0].single(), kWeightNames[1].single());
  }
  std::erase_if(names, [&](const std::string& name) { return cache.has(commit, name); });
  std::vector<std::optional<HubFile>> found(names.size());
  run_parallel(names.size(), 4, {}, [&](size_t i, const std::stop_token&) {
    found[i] = hub.find(repository, commit, names[i]);
  });
  std::vector<HubFile> files;
  for (size_t i = 0; i < names.size(); ++i) {
    if (found[i]) {
      files.push_back(*found[i]);
    } else if (hub.settings().offline) {
      throw InputError("{}: {} is not in the cache {}, and HF_HUB_OFFLINE is set",
                       checkpoint.title(), names[i], hub.settings().cache.string());
    } else {
      const bool first = cache.has(commit, checkpoint.inside(kWeightNames[0].index()));
      throw InputError("{}: {} names shard {}, which is missing", checkpoint.title(),
                       kWeightNames[first ? 0 : 1].index(), fs::path(names[i]).filename().string());
    }
  }
  return files;
}

std::string stated_weights(Hub& hub, const HubCheckpoint& checkpoint) {
  const HubRepository& repository = checkpoint.repository;
  const std::string& commit = checkpoint.commit;
  const HubCache cache = hub.cache(repository);
  std::vector<std::string> names = known_weights(cache, checkpoint);
  std::map<std::string, std::string> etags;
  for (const std::string& name : names) etags[name] = cache.etag(commit, name);
  if (const std::string digest = digest_of(etags); !digest.empty() || hub.settings().offline) {
    return digest;
  }
  try {
    std::map<std::string, HubFile> files;
    for (const HubFile& file : hub.tree(repository, commit, checkpoint.subfolder)) {
      files[file.name] = file;
    }
    for (const WeightNames& kind : kWeightNames) {
      const std::string index = checkpoint.inside(kind.index());
      const std::string single = checkpoint.inside(kind.single());
      if (names.empty() && files.contains(index)) {
        hub.fetch(repository, commit, {files[index]}, {index, false, {}});
        names = known_weights(cache, checkpoint);
      }
      if (names.empty() && files.contains(single)) names = {single};
    }
    etags.clear();
    for (const std::string& name : names) etags[name] = files[name].etag;
    return digest_of(etags);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::runtime_error& error) {
    log::debug("{}: the Hub does not state its weights: {}", checkpoint.name(), error.what());
    return "";
  }
}

void fetch_weights(Hub& hub, const HubCheckpoint& checkpoint, const FetchOptions& options) {
  hub.fetch(checkpoint.repository, checkpoint.commit, missing_weights(hub, checkpoint), options);
}

fs::path fetch_tokenizer(Hub& hub, const HubRepository& repository, const std::string& commit,
                         const std::string& folder, const FetchOptions& options) {
  const auto inside = [&](std::string_view name) { return (fs::path(folder) / name).string(); };
  fs::path file = hub.fetch(repository, commit, inside(kTokenizerFile), options);
  if (!file.empty()) return file;
  const fs::path there = hub.cache(repository).snapshot(commit) / folder;
  if (hub.settings().offline) return holds_tokenizer(there) ? there : fs::path();
  std::vector<HubFile> files;
  bool any = false;
  for (const HubFile& one : hub.tree(repository, commit, folder)) {
    const auto is = [&](std::string_view name) { return one.name == inside(name); };
    const bool whole = std::ranges::any_of(kOtherTokenizerFiles, is);
    any = any || whole;
    if (whole || std::ranges::any_of(kTokenizerSettings, is)) files.push_back(one);
  }
  if (!any) return {};
  hub.fetch(repository, commit, files, options);
  return there;
}

bool fetch_tokenizer(Hub& hub, const HubCheckpoint& checkpoint) {
  const std::string name = checkpoint.inside(std::string(kTokenizerFile));
  return !hub.fetch(checkpoint.repository, checkpoint.commit, name, {name, false, {}}).empty();
}

int64_t evict_weights(const Hub& hub, const HubCheckpoint& checkpoint) {
  const HubCache cache = hub.cache(checkpoint.repository);
  int64_t freed = 0;
  int64_t kept = 0;  // bytes
  for (const std::string& name : known_weights(cache, checkpoint)) {
    std::error_code missing;
    const auto size = fs::file_size(cache.file(checkpoint.commit, name), missing);
    if (missing) continue;
    const std::optional<int64_t> removed = cache.remove(checkpoint.commit, name);
    freed += removed.value_or(0);
    kept += removed ? 0 : static_cast<int64_t>(size);
  }
  if (kept > 0) {
    log::info("{}: {} stay in the cache, because this program did not download them",
              checkpoint.name(), format_bytes(kept));
  }
  return freed;
}

}  // namespace ropewalk
