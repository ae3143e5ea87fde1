#include "ropewalk/hub/hub.h"

#include <sys/statvfs.h>

#include <charconv>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"
#include "ropewalk/hub/answers.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr size_t kParallel = 4;  // files at a time

// The most bytes that a file may have: files that are read into memory are refused before they are
// downloaded.
int64_t largest_size(const std::string& name) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  const std::string file = fs::path(name).filename().string();
  if (file == "config.json" || file == "README.md") return 16 * kMiB;
  if (name.ends_with(".json")) return 256 * kMiB;  // the limit of read_json_file
  return std::numeric_limits<int64_t>::max();
}

// Turns the name a/b into "/a/b". Names may come from elsewhere, so anything but the repository's
// own files is refused; otherwise the user's token could be sent for it.
std::string encode_path(const std::string& name) {
  std::string path;
  for (const fs::path& part : fs::path(name)) {
    if (part == ".." || part == "/") {
      throw InputError("'{}': is outside its repository; refused", printable_excerpt(name, 80));
    }
    path += "/" + encode_url(part.string());
  }
  return path;
}

std::string file_path(const HubRepository& repository, const std::string& commit,
                      const std::string& name) {
  return fmt::format("{}/resolve/{}{}", repository.page(), encode_url(commit), encode_path(name));
}

void check_space(const fs::path& folder, int64_t needed, const std::string& title) {
  fs::path there = folder;
  std::error_code ignored;
  while (!fs::exists(there, ignored) && there.has_relative_path()) there = there.parent_path();
  struct statvfs disk {};
  if (::statvfs(there.c_str(), &disk) != 0) return;  // free space is unknown; writing will show
  const double available = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (static_cast<double>(needed) <= available) return;
  throw SystemError(
      "{}: {} needs {}, but only {} are free; free some space, set HF_HUB_CACHE to another disk, "
      "or give run --evict",
      folder.string(), title, format_bytes(needed), format_bytes(static_cast<int64_t>(available)));
}

}  // namespace

Hub::Hub(HubSettings settings) : settings_(std::move(settings)) {}

HubCache Hub::cache(const HubRepository& repository) const { return {settings_.cache, repository}; }

HttpResponse Hub::ask(const std::stop_token& stop,
                      const std::function<HttpResponse(HubRequests&)>& work) {
  if (settings_.offline) throw InputError("the Hub is not asked, because HF_HUB_OFFLINE is set");
  std::optional<HttpClient> client;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      client.emplace(std::move(idle_.back()));
      idle_.pop_back();
    }
  }
  if (!client) client.emplace(settings_.http);
  HubRequests requests(settings_, *client, stop);
  HttpResponse response = work(requests);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(*client));
  return response;
}

std::string Hub::commit(const HubRepository& repository, const std::string& revision,
                        const std::string& file) {
  if (is_commit(revision)) return revision;
  const HubCache cache = this->cache(repository);
  const std::string known = cache.commit_of(revision);
  const std::string what = fmt::format("{}@{}", repository.id, revision);
  if (settings_.offline) {
    if (!known.empty()) return known;
    throw InputError("{}: is not in the cache {}, and HF_HUB_OFFLINE is set", what,
                     settings_.cache.string());
  }
  std::string commit;
  {
    const std::lock_guard lock(mutex_);
    const auto asked = refs_.find(repository.api());
    if (asked != refs_.end() && asked->second.contains(revision)) {
      commit = asked->second.at(revision);
    }
  }
  try {
    if (commit.empty()) commit = request_commit(repository, revision, file);
  } catch (const SystemError& error) {
    if (known.empty()) throw;
    log::warning("{}; using {} as of the last request", error.what(), what);
    return known;
  }
  try {
    cache.remember(revision, commit);
  } catch (const SystemError& error) {
    // The Hub's answer is valid all the same. Where a file must be written, that will fail with its
    // name.
    log::info("{}@{}: is at commit {}, which cannot be stored in the cache: {}", repository.id,
              revision, commit, error.what());
  }
  return commit;
}

std::string Hub::request_commit(const HubRepository& repository, const std::string& revision,
                                const std::string& file) {
  const std::string what = fmt::format("{}@{}", repository.id, revision);
  // The answer names the commit even where the file does not exist.
  const HttpResponse response = ask({}, [&](HubRequests& requests) {
    return requests.head(file_path(repository, revision, file));
  });
  const std::string commit = response.header("x-repo-commit");
  const bool found = response.status < 400 || response.header("x-error-code") == "EntryNotFound";
  if (!found) fail_request(response, what);
  if (is_commit(commit)) return commit;
  throw InputError("{}: {} does not say which commit this is; is it a Hugging Face Hub?", what,
                   printable_url(settings_.endpoint));
}

std::map<std::string, std::string> Hub::refs(const HubRepository& repository) {
  const std::string path = repository.api() + "/refs";
  {
    const std::lock_guard lock(mutex_);
    const auto asked = refs_.find(repository.api());
    if (asked != refs_.end()) return asked->second;
  }
  if (settings_.offline) return cache(repository).refs();
  const HttpResponse response = ask({}, [&](HubRequests& requests) { return requests.get(path); });
  if (response.status != 200) fail_request(response, repository.id);
  const std::string source = printable_url(settings_.endpoint) + path;
  std::map<std::string, std::string> refs = read_refs(response.body, source);
  const std::lock_guard lock(mutex_);
  return refs_[repository.api()] = std::move(refs);
}

std::vector<HubFile> Hub::tree(const HubRepository& repository, const std::string& commit,
                               const std::string& folder, bool deep) {
  const std::string what = fmt::format("{}@{}", repository.id, commit);
  std::vector<HubFile> files;
  constexpr int kPages = 1000;
  std::string page = fmt::format("{}/tree/{}{}{}", repository.api(), encode_url(commit),
                                 encode_path(folder), deep ? "?recursive=true" : "");
  for (int i = 0; !page.empty(); ++i) {
    if (i == kPages) throw InputError("{}: the list of its files does not end; refused", what);
    const HttpResponse response =
        ask({}, [&](HubRequests& requests) { return requests.get(page); });
    if (!folder.empty() && response.header("x-error-code") == "EntryNotFound") return {};
    if (response.status != 200) fail_request(response, what);
    const std::string source = fmt::format("list of the files of {}", what);
    for (HubFile& file : read_tree(response.body, source)) files.push_back(std::move(file));
    page = next_page(response);
  }
  return files;
}

std::optional<HubFile> Hub::find(const HubRepository& repository, const std::string& commit,
                                 const std::string& name) {
  const std::string what = fmt::format("{}@{}/{}", repository.id, commit, name);
  if (settings_.offline) return std::nullopt;
  const HttpResponse response = ask({}, [&](HubRequests& requests) {
    return requests.head(file_path(repository, commit, name));
  });
  if (response.header("x-error-code") == "EntryNotFound") {
    try {
      cache(repository).remember_absent(commit, name);
    } catch (const SystemError& error) {  // a broken note: ask again
      log::debug("{}", error.what());
    }
    return std::nullopt;
  }
  if (response.status >= 400) fail_request(response, what);
  const std::string linked = response.header("x-linked-etag");
  const std::string length = response.header(linked.empty() ? "content-length" : "x-linked-size");
  HubFile file{name, plain_etag(linked.empty() ? response.header("etag") : linked), -1};
  std::from_chars(length.data(), length.data() + length.size(), file.size);
  const std::string answered = response.header("x-repo-commit");
  if (file.etag.empty() || file.size < 0) {
    throw InputError("{}: {} gives no etag and size; is it a Hugging Face Hub?", what,
                     printable_url(settings_.endpoint));
  }
  if (answered != commit) {
    throw InputError("{}: the Hub answers for commit '{}' instead; refused", what, answered);
  }
  cache(repository).blob(file.etag);  // refuses an etag that would lead out of the cache
  if (is_content_hash(file.etag)) return file;
  // The etag of a mirror says nothing about the bytes, but its list of files may.
  for (const HubFile& listed : tree(repository, commit, fs::path(name).parent_path().string())) {
    if (listed.name == name) return listed;
  }
  return file;
}

void Hub::fetch(const HubRepository& repository, const std::string& commit,
                const std::vector<HubFile>& files, const FetchOptions& options) {
  const HubCache cache = this->cache(repository);
  std::vector<const HubFile*> missing;
  int64_t bytes = 0;
  for (const HubFile& file : files) {
    if (cache.has(commit, file.name)) continue;
    const std::string what = fmt::format("{}@{}/{}", repository.id, commit, file.name);
    if (!is_content_hash(file.etag)) {
      throw InputError(
          "{}: {} gives it the etag '{}', expected a SHA-256 or git's hash, because nothing else "
          "can be verified; refused",
          what, printable_url(settings_.endpoint), printable_excerpt(file.etag, 80));
    }
    if (file.size > largest_size(file.name)) {
      throw InputError("{}: has {}, expected at most {}; not downloaded", what,
                       format_bytes(file.size), format_bytes(largest_size(file.name)));
    }
    missing.push_back(&file);
    bytes += missing_bytes(cache, file);
  }
  if (missing.empty()) return;
  check_space(settings_.cache, bytes, options.title);
  std::mutex mutex;
  std::optional<Progress> progress;
  if (options.progress && bytes > 0) progress.emplace(options.title, "bytes", bytes);
  const auto arrived = [&](int64_t amount) {
    const std::lock_guard lock(mutex);
    if (progress) progress->advance(amount);
  };
  run_parallel(missing.size(), kParallel, options.stop, [&](size_t i, const std::stop_token& stop) {
    const HubFile& file = *missing[i];
    std::error_code ignored;
    if (!fs::exists(cache.blob(file.etag), ignored)) {
      ask(stop, [&](HubRequests& requests) {
        download_blob(requests, cache, file, file_path(repository, commit, file.name), stop,
                      arrived);
        return HttpResponse();
      });
    }
    cache.link(commit, file.name, file.etag);
  });
}

fs::path Hub::fetch(const HubRepository& repository, const std::string& commit,
                    const std::string& name, const FetchOptions& options) {
  const HubCache cache = this->cache(repository);
  if (cache.has(commit, name)) return cache.file(commit, name);
  if (cache.is_known_absent(commit, name)) return {};  // works without asking the Hub
  const std::optional<HubFile> file = find(repository, commit, name);
  if (!file) return {};
  fetch(repository, commit, std::vector{*file}, options);
  return cache.file(commit, name);
}

std::string Hub::read(const HubRepository& repository, const std::string& commit,
                      const std::string& name, int64_t offset, int64_t length) {
  if (length == 0) return "";
  const HttpResponse response = ask({}, [&](HubRequests& requests) {
    return requests.get_part(file_path(repository, commit, name), offset, length);
  });
  const std::string what = fmt::format("{}@{}/{}", repository.id, commit, name);
  if (response.status == 200) throw InputError("{}: the server does not support ranges", what);
  if (response.status != 206) fail_request(response, what);
  if (static_cast<int64_t>(response.body.size()) == length) return response.body;
  throw InputError("{}: the server sends {} of {} bytes", what, response.body.size(), length);
}

}  // namespace ropewalk
