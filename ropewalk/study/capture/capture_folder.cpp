#include "ropewalk/study/capture/capture_folder.h"

#include "ropewalk/base/error.h"
#include "ropewalk/moments/files/moments_file.h"

namespace ropewalk {
namespace fs = std::filesystem;

void require_exists(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw SystemError("{}: cannot open: {}", path.string(),
                      error ? error.message() : "No such file or directory");
  }
}

void refuse_results(const fs::path& folder) {
  std::error_code ignored;
  if (folder.filename() == "checkpoints" && !fs::exists(folder / kMomentsName, ignored) &&
      fs::exists(folder.parent_path() / "manifest.json", ignored)) {
    throw InputError("{}: is not a capture; pass the folders inside it: {}/*", folder.string(),
                     folder.string());
  }
  if (fs::exists(folder / kMomentsName, ignored) ||
      !fs::is_directory(folder / "checkpoints", ignored)) {
    return;
  }
  throw InputError(
      "{}: is a results folder, not a capture; its captures are the folders in {}, and its table "
      "is {}",
      folder.string(), (folder / "checkpoints").string(), (folder / "qk.csv").string());
}

fs::path moments_path(const fs::path& capture) {
  require_exists(capture);
  std::error_code ignored;
  if (fs::is_regular_file(capture, ignored)) return capture;
  refuse_results(capture);
  if (!fs::exists(capture / kMomentsName, ignored)) {
    throw InputError("{}: has no {}; was it made by ropewalk capture?", capture.string(),
                     kMomentsName);
  }
  return capture / kMomentsName;
}

void refuse_used_folder(const fs::path& out) {
  std::error_code error;
  if (out.empty()) throw UsageError("--out: is empty; name a folder");
  if (!fs::exists(out, error)) {
    if (!fs::is_symlink(out, error)) return;
    throw UsageError("--out {}: is a link to nothing; remove it first", out.string());
  }
  if (!fs::is_directory(out, error)) throw UsageError("--out {}: is not a folder", out.string());
  if (!fs::is_empty(out, error)) {
    throw UsageError("--out {}: is not empty; name a new folder, or remove it first", out.string());
  }
}

}  // namespace ropewalk
