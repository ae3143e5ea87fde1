#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "ropewalk/hub/cache.h"
#include "ropewalk/hub/download.h"
#include "ropewalk/hub/settings.h"

namespace ropewalk {

struct FetchOptions {
  std::string title = "download";  // title of the progress bar
  bool progress = true;
  std::stop_token stop;
};

// The Hugging Face Hub and its cache. Everything is requested at a commit, so that a repository
// that changes meanwhile cannot give a mixture. Thread-safe. Throws InputError where the Hub lacks
// something, SystemError where it cannot be reached or the disk is full; offline, InputError naming
// what the cache lacks.
class Hub {
 public:
  explicit Hub(HubSettings settings = hub_settings_from_environment());

  const HubSettings& settings() const { return settings_; }
  HubCache cache(const HubRepository& repository) const;

  // The commit of a branch, tag or commit. `file` is one that the commit should have, because the
  // Hub names the commit in answers about files. Where the Hub cannot be reached, returns the
  // commit of the last request, with a warning.
  std::string commit(const HubRepository& repository, const std::string& revision,
                     const std::string& file = "config.json");
  // Branches and tags, by name, with their commits; offline, those of earlier requests.
  std::map<std::string, std::string> refs(const HubRepository& repository);
  // The files in a folder of a commit (empty: the top folder); with `deep`, in all folders below it
  // too. None where there is no such folder.
  std::vector<HubFile> tree(const HubRepository& repository, const std::string& commit,
                            const std::string& folder = "", bool deep = false);
  // One file, or nothing where the commit has no file of that name.
  std::optional<HubFile> find(const HubRepository& repository, const std::string& commit,
                              const std::string& name);

  // Downloads files of a commit into the cache, several at a time, and skips those that are there.
  // Checks the disk's free space first, and that no JSON file is larger than its reader accepts.
  void fetch(const HubRepository& repository, const std::string& commit,
             const std::vector<HubFile>& files, const FetchOptions& options = {});
  // Finds one file and downloads it where it is missing; returns its path, or an empty path where
  // the commit has no file of that name.
  std::filesystem::path fetch(const HubRepository& repository, const std::string& commit,
                              const std::string& name, const FetchOptions& options = {});

  // Reads a part of a file without putting it into the cache. Throws InputError where the file is
  // shorter.
  std::string read(const HubRepository& repository, const std::string& commit,
                   const std::string& name, int64_t offset, int64_t length);

 private:
  // Runs `work` with a connection that nobody else uses meanwhile; an open one is reused.
  HttpResponse ask(const std::stop_token& stop,
                   const std::function<HttpResponse(HubRequests&)>& work);

  std::string request_commit(const HubRepository& repository, const std::string& revision,
                             const std::string& file);

  HubSettings settings_;
  std::mutex mutex_;
  std::vector<HttpClient> idle_;
  // Answers so far, by API address.
  std::map<std::string, std::map<std::string, std::string>> refs_;
};

}  // namespace ropewalk
