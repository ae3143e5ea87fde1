#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "ropewalk/hub/hub.h"

namespace ropewalk {

// A remote file that is read in parts, on demand. Parts are kept on disk, so that nothing is
// downloaded twice. A part cannot be checked against the hash of the whole file; a checksum tells
// whether a part on disk is as it arrived, otherwise it is read again. Thread-safe.
class RemoteFile {
 public:
  static constexpr int64_t kPart = int64_t{1} << 20;  // bytes; requests are for whole parts

  // `read` returns `length` bytes from `offset` on, all of which exist. `parts` is the folder to
  // keep parts in; it need not exist.
  using Read = std::function<std::string(int64_t offset, int64_t length)>;
  RemoteFile(std::string name, int64_t size, std::filesystem::path parts, Read read);

  const std::string& name() const { return name_; }  // for messages
  int64_t size() const { return size_; }
  // The number of bytes that were requested from `read`.
  int64_t bytes_requested() const { return bytes_requested_; }

  // Copies at most `length` bytes from `offset` on and returns how many; fewer only at the end of
  // the file.
  int64_t read(int64_t offset, char* data, int64_t length);

 private:
  struct Part {
    int64_t number = -1;
    std::string bytes;
  };
  const std::string& part(int64_t number);
  std::string kept(int64_t number) const;
  void keep(int64_t number, const std::string& bytes) const;
  int64_t length_of(int64_t number) const;

  std::string name_;
  int64_t size_;
  std::filesystem::path parts_;
  Read read_;
  std::atomic<int64_t> bytes_requested_ = 0;
  std::mutex mutex_;
  std::list<Part> recent_;  // latest first
};

// Opens a file of a repository at a commit.
std::shared_ptr<RemoteFile> open_remote_file(Hub& hub, const HubRepository& repository,
                                             const std::string& commit, const HubFile& file);

}  // namespace ropewalk
