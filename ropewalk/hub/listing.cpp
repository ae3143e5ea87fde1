#include "ropewalk/hub/listing.h"

#include <algorithm>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::optional<std::vector<HubFile>> read_kept(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return std::nullopt;
  try {
    std::vector<HubFile> files;
    for (const Json& entry : read_json_file(path)) {
      files.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>(),
                       entry.at(2).get<int64_t>()});
    }
    return files;
  } catch (const std::exception& damaged) {
    log::debug("{}: {}; requesting it again", path.string(), damaged.what());
    return std::nullopt;
  }
}

void keep(const fs::path& path, const std::vector<HubFile>& files) {
  Json list = Json::array();
  for (const HubFile& file : files) list.push_back({file.name, file.etag, file.size});
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  try {
    write_file_atomically(path, list.dump());
  } catch (const SystemError& error) {
    log::debug("{}; it will be requested again", error.what());
  }
}

}  // namespace

std::vector<HubFile> list_files(Hub& hub, const HubRepository& repository,
                                const std::string& commit, const std::string& folder) {
  const HubCache cache = hub.cache(repository);
  cache.snapshot(commit);  // refuses a text that is not a commit
  const std::string name =
      folder.empty() ? commit : fmt::format("{}-{}", commit, sha256_hex(folder).substr(0, 16));
  const fs::path path = cache.notes() / "files" / (name + ".json");
  if (auto kept = read_kept(path)) return *kept;
  if (hub.settings().offline) {
    throw InputError(
        "{}@{}: the list of its files is not in the cache {}, and HF_HUB_OFFLINE is set",
        repository.id, commit, hub.settings().cache.string());
  }
  std::vector<HubFile> files = hub.tree(repository, commit, folder, /*deep=*/true);
  std::sort(files.begin(), files.end(),
            [](const HubFile& a, const HubFile& b) { return a.name < b.name; });
  keep(path, files);
  return files;
}

}  // namespace ropewalk
