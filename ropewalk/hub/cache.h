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
  std::string page() const;    // of addresses: "/org/name", "/datasets/org/name"
  std::string api() const;     // "/api/models/org/name"
};

// A file of a repository at a commit.
struct HubFile {
  std::string name;
  std::string etag;  // the SHA-256 of large files, git's hash of small ones
  int64_t size = 0;  // bytes
};

// Whether a text can be a repository's id: two names of letters, digits, '.', '_' and '-'.
bool is_hub_id(const std::string& text);

// Whether a text is a whole commit hash.
bool is_commit(const std::string& text);

// Whether an etag tells the bytes: a SHA-256 (of large files) or git's SHA-1 (of small ones).
bool is_content_hash(const std::string& etag);

// One repository's part of the cache that all Hugging Face programs share:
//
//   models--org--name/refs/REVISION             the commit that a branch or tag is at
//   models--org--name/snapshots/COMMIT/FILE     a link to the file's bytes
//   models--org--name/blobs/ETAG                the bytes, one copy for all commits
//   models--org--name/blobs/ETAG.incomplete     those that have arrived
//   models--org--name/.no_exist/COMMIT/FILE     empty: the commit has no such file
//   models--org--name/.ropewalk/ETAG            a note that this program downloaded them
//   models--org--name/.ropewalk/files/COMMIT…   the names of a commit's files (listing.h)
//   models--org--name/.ropewalk/parts/ETAG/     parts of a file that is read in part
//   (remote_file.h) .locks/models--org--name/ETAG.lock          held by the process that downloads
//   them
//
// Names come from a server. One that would lead out of the cache is an InputError.
class HubCache {
 public:
  HubCache(const std::filesystem::path& root, const HubRepository& repository);

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path snapshot(const std::string& commit) const;
  std::filesystem::path file(const std::string& commit, const std::string& name) const;
  std::filesystem::path blob(const std::string& etag) const;
  // The etag of a file's bytes, as the snapshot's link names it; empty where there is no such link.
  std::string etag(const std::string& commit, const std::string& name) const;
  // Where this program keeps what it notes of the repository.
  std::filesystem::path notes() const;
  // Whether the file is there, all of it.
  bool has(const std::string& commit, const std::string& name) const;

  // Whether the commit is known to have no such file; and to make that known.
  bool is_known_absent(const std::string& commit, const std::string& name) const;
  void remember_absent(const std::string& commit, const std::string& name) const;

  // The commit a revision was at when last asked, or empty.
  std::string commit_of(const std::string& revision) const;
  // All such revisions with their commits.
  std::map<std::string, std::string> refs() const;
  void remember(const std::string& revision, const std::string& commit) const;
  // Gives a blob its name in a snapshot.
  void link(const std::string& commit, const std::string& name, const std::string& etag) const;
  // Removes a file from a snapshot, and its bytes where no other snapshot has them. Returns how
  // many bytes that freed; nothing where another program downloaded them, which leaves all of it.
  std::optional<int64_t> remove(const std::string& commit, const std::string& name) const;

 private:
  friend class HubLock;
  std::filesystem::path absent(const std::string& commit, const std::string& name) const;
  std::filesystem::path root_;
  std::filesystem::path folder_;
};

// Holds a blob for this thread, waiting for others that download it. Throws Interrupted, and
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
