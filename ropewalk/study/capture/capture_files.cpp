#include "ropewalk/study/capture/capture_files.h"

#include <algorithm>
#include <functional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/stream_key.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Files that desktops create in folders that a user opened; they can be removed.
bool is_desktop_file(const fs::path& path) {
  const std::string name = path.filename().string();
  std::error_code ignored;
  return (name == ".DS_Store" || name == "Thumbs.db" || name.starts_with("._")) &&
         fs::is_regular_file(fs::symlink_status(path, ignored));
}

bool is_file(const fs::path& path, const char* name) {
  std::error_code ignored;
  return path.filename() == name && fs::is_regular_file(fs::symlink_status(path, ignored));
}

// The files of a capture besides its vectors.
bool is_own_file(const fs::path& path) {
  return is_file(path, kCaptureName) || is_file(path, kMomentsName);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

bool is_vectors_file(const fs::path& path) { return is_file(path, kVectorsFile); }

bool is_stream(const fs::path& path) {
  return is_folder(path) && parse_stream_name(path.filename().string());
}

// Lists the files of a folder that are not ours; lists the folder itself where it cannot be read.
void add_foreign(const fs::path& folder, const std::function<bool(const fs::path&)>& ours,
                 std::vector<fs::path>& foreign) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error == std::errc::permission_denied) {
    throw SystemError("{}: cannot be read: {}", folder.string(), error.message());
  }
  if (error) foreign.push_back(folder);
  for (const auto& entry : entries) {
    if (!is_desktop_file(entry.path()) && !ours(entry.path())) foreign.push_back(entry.path());
  }
}

}  // namespace

bool is_capture(const fs::path& folder) { return foreign_files_in(folder).empty(); }

std::vector<fs::path> foreign_files_in(const fs::path& folder) {
  if (!is_folder(folder)) return {folder};
  std::vector<fs::path> foreign;
  bool any = false;
  const auto of_vectors = [&](const fs::path& path) {
    if (is_stream(path)) add_foreign(path, is_vectors_file, foreign);
    return is_stream(path);
  };
  const auto of_capture = [&](const fs::path& path) {
    const bool vectors = path.filename() == kVectorsName && is_folder(path);
    if (vectors) add_foreign(path, of_vectors, foreign);
    any = any || is_own_file(path);
    return vectors || is_own_file(path);
  };
  add_foreign(folder, of_capture, foreign);
  std::sort(foreign.begin(), foreign.end());
  return any ? foreign : std::vector{folder};
}

// Renames the folder first, so that the remains of an interrupted removal are recognised.
void remove_capture(const fs::path& folder) {
  std::error_code ignored;
  if (!is_capture(folder) && !fs::is_empty(folder, ignored)) {
    throw InputError("{}: holds files that ropewalk did not write; move them away",
                     folder.string());
  }
  const fs::path leaving = temporary_path(folder.string() + ".gone");
  std::error_code error;
  fs::rename(folder, leaving, error);
  if (!error) {
    fs::remove_all(leaving, error);
    if (error) fs::rename(leaving, folder, ignored);  // puts it back
  }
  if (error) throw SystemError("{}: cannot remove: {}", folder.string(), error.message());
}

}  // namespace ropewalk
