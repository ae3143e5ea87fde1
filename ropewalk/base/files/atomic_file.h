#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/processes/last_resort.h"

namespace ropewalk {

// What is being written has the name .NAME.tmp-TOKEN beside its place. The token is this process's
// own, unless it is given one: a lock notes it (folder_lock.h), so that what a killed process left
// is known by it. The others of a job have its token, a hyphen and their rank.
const std::string& temporary_token();
void set_temporary_token(const std::string& token);
// Such a name for something that is to stand beside `target` for a while.
std::filesystem::path temporary_path(const std::filesystem::path& target);
// Whether a file's name is that of something a process with this token was writing.
bool is_temporary_of(const std::string& name, const std::string& token);

// FOLDER/NAME-1, or the first NAME-2, NAME-3, … where something has that name.
std::filesystem::path free_path(const std::filesystem::path& folder, const std::string& name);

// Writes `text` to `path` through a temporary name in the same folder, synced, then renamed:
// readers see the old file or the new one, never half of it. Throws SystemError naming the path.
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
// The same for contents that are handed over piece by piece.
using ByteSink = std::function<void(std::string_view)>;
void write_file_atomically(const std::filesystem::path& path,
                           const std::function<void(const ByteSink&)>& produce);

// Several files of one result: all are written and synced before the first gets its name, so that a
// full disk leaves none of them.
struct FileText {
  std::filesystem::path path;
  std::string text;
};
void write_files_atomically(const std::vector<FileText>& files);

// A folder being filled under a temporary name beside `target`. `commit` renames it into place;
// without commit the destructor removes it with all it holds. Throws SystemError when it cannot be
// made.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path target);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  // Where to write.
  const std::filesystem::path& path() const { return path_; }
  void commit();

 private:
  void remove() const;

  std::filesystem::path target_;
  std::filesystem::path path_;
  std::filesystem::path
      created_parent_;  // topmost folder made for the target; removed if nothing came of it
  bool committed_ = false;
  std::optional<ExitCleanup> undo_;
};

}  // namespace ropewalk
