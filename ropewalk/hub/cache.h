#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

namespace ropewalk {

// A repository of the Hub.
struct HubRepository {
  enum class Kind { model, dataset };
  Kind kind = Kind::model;
  std::string id;  // "org/name"

  std::string folder() const;  // in the cache: "models--org--name"
  std::string page() const;    // of web addresses: "/org/name", "/datasets/org/name"
  std::string api() const;     // of the API: "/api/models/org/name"
};

// A file of a repository at a commit.
struct HubFile {
  std::string name;
  std::string etag;  // SHA-256 of large files, git's hash of small ones
  int64_t size = 0;  // bytes
};

// Whether a text can be the id of a repository: two names of letters, digits, '.', '_' and '-'.
bool is_hub_id(const std::string& text);

// Whether a text is a full commit hash.
bool is_commit(const std::string& text);

// Whether an etag identifies the bytes: a SHA-256 (large files) or git's SHA-1 (small ones).
bool is_content_hash(const std::string& etag);

// One repository in the cache that all Hugging Face programs share:
//
//   models--org--name/refs/REVISION             the commit that a branch or tag is at
//   models--org--name/snapshots/COMMIT/FILE     a link to the file's bytes
//   models--org--name/blobs/ETAG                the bytes, one copy for all commits
//   models--org--name/blobs/ETAG.incomplete     the bytes of an unfinished download
//   models--org--name/.no_exist/COMMIT/FILE     empty: the commit has no such file
//   models--org--name/.ropewalk/ETAG            a note that this program downloaded them
//   models--org--name/.ropewalk/files/COMMIT…   the names of a commit's files (listing.h)
//   models--org--name/.ropewalk/parts/ETAG/     parts of a remote file (remote_file.h)
//   .locks/models--org--name/ETAG.lock          locked by the process that downloads
//
// Names come from a server. A name that would lead out of the cache is an InputError.
class HubCache {
 public:
  HubCache(const std::filesystem::path& root, const HubRepository& repository);

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path snapshot(const std::string& commit) const;
  std::filesystem::path file(const std::string& commit, const std::string& name) const;
  std::filesystem::path blob(const std::string& etag) const;
  // The etag of a file's bytes, as the snapshot's link names it; empty where there is no such link.
  std::string etag(const std::string& commit, const std::string& name) const;
  // The folder for this program's own notes about the repository.
  std::filesystem::path notes() const;
  // Whether the file is in the cache completely.
  bool has(const std::string& commit, const std::string& name) const;

  // Whether the commit is known to have no such file; and the function that remembers it.
  bool is_known_absent(const std::string& commit, const std::string& name) const;
  void remember_absent(const std::string& commit, const std::string& name) const;

  // The commit that a revision was at when the Hub was last asked, or empty.
  std::string commit_of(const std::string& revision) const;
  // All such revisions with their commits.
  std::map<std::string, std::string> refs() const;
  void remember(const std::string& revision, const std::string& commit) const;
  // Links a name in a snapshot to a blob.
  void link(const std::string& commit, const std::string& name, const std::string& etag) const;
  // Removes a file from a snapshot, and its bytes where no other snapshot needs them. Returns how
  // many bytes that freed; returns nothing and removes nothing where another program downloaded the
  // file.
  std::optional<int64_t> remove(const std::string& commit, const std::string& name) const;

 private:
  friend class HubLock;
  std::filesystem::path absent(const std::string& commit, const std::string& name) const;
  std::filesystem::path root_;
  std::filesystem::path folder_;
};

// Locks a blob for this thread and waits for others that download it. Throws Interrupted, and
// SystemError once `stop` is requested.
class HubLock {
 public:
  HubLock(const HubCache& cache, const std::string& etag, const std::stop_token& stop);
  ~HubLock();
  HubLock(const HubLock&) = delete;
  HubLock& operator=(const HubLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace ropewalk
