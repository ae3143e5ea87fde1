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
  std::string title = "download";  // of the progress bar
  bool progress = true;
  std::stop_token stop;
};

// The Hugging Face Hub and its cache. Everything is asked for at a commit, so that a repository
// that changes meanwhile cannot give a mixture. Thread-safe. Throws InputError where the Hub does
// not have what it should, SystemError where it cannot be reached or the disk is full; offline,
// InputError naming what the cache lacks.
class Hub {
 public:
  explicit Hub(HubSettings settings = hub_settings_from_environment());

  const HubSettings& settings() const { return settings_; }
  HubCache cache(const HubRepository& repository) const;

  // The commit a branch, tag or commit is at; `file` is one that it should have, as the Hub answers
  // for files. Where the Hub cannot be reached, the one it was at when last asked, with a warning.
  std::string commit(const HubRepository& repository, const std::string& revision,
                     const std::string& file = "config.json");
  // Branches and tags, by name, with their commits; offline, those asked for before.
  std::map<std::string, std::string> refs(const HubRepository& repository);
  // The files in a folder of a commit (empty: at its top); `deep`: in the folders below it too.
  // None where there is no such folder.
  std::vector<HubFile> tree(const HubRepository& repository, const std::string& commit,
                            const std::string& folder = "", bool deep = false);
  // One file, or nothing where the commit has none of that name.
  std::optional<HubFile> find(const HubRepository& repository, const std::string& commit,
                              const std::string& name);

  // Puts files of a commit into the cache, several at a time; those that are there cost nothing.
  // Checks the disk's free space first, and that no JSON file is larger than what reads it takes.
  void fetch(const HubRepository& repository, const std::string& commit,
             const std::vector<HubFile>& files, const FetchOptions& options = {});
  // Finds and fetches one file, where it is not there yet; returns where it is, or an empty path
  // where the commit has none of that name.
  std::filesystem::path fetch(const HubRepository& repository, const std::string& commit,
                              const std::string& name, const FetchOptions& options = {});

  // A part of a file, which does not enter the cache. Throws InputError where it is not that long.
  std::string read(const HubRepository& repository, const std::string& commit,
                   const std::string& name, int64_t offset, int64_t length);

 private:
  // Runs `work` with a connection that nobody else uses meanwhile, an open one where there is.
  HttpResponse ask(const std::stop_token& stop,
                   const std::function<HttpResponse(HubRequests&)>& work);

  std::string request_commit(const HubRepository& repository, const std::string& revision,
                             const std::string& file);

  HubSettings settings_;
  std::mutex mutex_;
  std::vector<HttpClient> idle_;
  std::map<std::string, std::map<std::string, std::string>> refs_;  // by API address, once asked
};

}  // namespace ropewalk
