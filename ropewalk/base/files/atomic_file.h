#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/processes/last_resort.h"

namespace ropewalk {

// A file that is still being written is called .NAME.tmp-TOKEN, in the folder where NAME will be.
// The token belongs to this process unless another one is set. A folder lock records it
// (folder_lock.h), so that files of a killed process can be recognised. The other processes of a
// job use the first one's token, followed by a hyphen and their rank.
const std::string& temporary_token();
void set_temporary_token(const std::string& token);
// A temporary name, in the same folder as `target`.
std::filesystem::path temporary_path(const std::filesystem::path& target);
// Whether `name` is a temporary name made by a process with this token.
bool is_temporary_of(const std::string& name, const std::string& token);

// FOLDER/NAME-1, or the first of NAME-2, NAME-3, … that does not exist.
std::filesystem::path free_path(const std::filesystem::path& folder, const std::string& name);

// Writes `text` to a temporary name in the same folder, syncs it and renames it to `path`: readers
// see the old file or the new one, never half of it. Throws SystemError naming the path.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
// Writes contents that `produce` hands over piece by piece, in the same way.
using ByteSink = std::function<void(std::string_view)>;
void write_file_atomically(const std::filesystem::path& path,
                           const std::function<void(const ByteSink&)>& produce);

// Writes several files of one result. All are written and synced before the first is renamed, so
// that a full disk leaves none of them.
struct FileText {
  std::filesystem::path path;
  std::string text;
};
void write_files_atomically(const std::vector<FileText>& files);

// A folder that is filled under a temporary name next to `target`. commit() renames it; without
// commit() the destructor removes it and everything in it. Throws SystemError where it cannot be
// created.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  // The temporary folder, to write into.
  const std::filesystem::path& path() const { return path_; }
  void commit();

 private:
  void remove() const;

  std::filesystem::path target_;
  std::filesystem::path path_;
  std::filesystem::path
      created_parent_;  // topmost parent that this object made; removed unless committed
  bool committed_ = false;
  std::optional<ExitCleanup> undo_;
};

}  // namespace ropewalk
