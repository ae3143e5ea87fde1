#include "ropewalk/study/capture/capture_store.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/capture_files.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr double kWorthKeeping = 60;  // seconds of measuring
constexpr const char* kReplaced = "replaced";

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

void move_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::rename(from, to, error);
  if (error) {
    throw SystemError("{}: cannot move to {}: {}", from.string(), to.string(), error.message());
  }
}

// The folders in a folder, sorted; empty where the folder does not exist.
std::vector<fs::path> folders_in(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> folders;
  const fs::directory_iterator entries(parent, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    throw SystemError("{}: cannot read: {}", parent.string(), error.message());
  }
  for (const auto& entry : entries) {
    if (is_folder(entry.path())) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// OUT/replaced/DATE/LABEL.
std::vector<fs::path> replaced_captures(const fs::path& out) {
  std::vector<fs::path> found;
  if (!is_folder(out / kReplaced)) return found;
  for (const fs::path& date : folders_in(out / kReplaced)) {
    for (const fs::path& folder : folders_in(date)) {
      if (is_capture(folder)) found.push_back(folder);
    }
  }
  return found;
}

// How long a capture took, from its description; infinite where that cannot be read.
double measured_seconds(const fs::path& folder) {
  try {
    const Json seconds = read_json_file(folder / kCaptureName).at("seconds");
    if (seconds.is_number()) return seconds.get<double>();
  } catch (const std::exception&) {  // damage can cause any kind of exception
  }
  return kWorthKeeping;
}

int64_t bytes_in(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entries(folder, error), end; !error && entries != end;
       entries.increment(error)) {
    std::error_code no_file;
    const auto size = entries->file_size(no_file);
    if (!no_file) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

// "2026-11-19", UTC
std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &utc);
  return text.data();
}

// Updates names and wording in a capture's description; its numbers stay.
void update_description(StoredCapture& capture, const CaptureInfo& words) {
  if (words.described() == capture.info.described()) return;
  write_file_atomically(capture.folder / kCaptureName, words.described().dump(2) + "\n");
  capture.info = words;
}

}  // namespace

bool is_complete(const StoredCapture& capture) {
  try {
    require_complete(capture.folder, capture.info);
    return true;
  } catch (const InputError& damaged) {
    log::warning("{}; this capture is not used", damaged.what());
    return false;
  }
}

CaptureStore::CaptureStore(fs::path out, std::string folder)
    : out_(std::move(out)), inside_(std::move(folder)) {
  read();
}

void CaptureStore::read() {
  std::vector<fs::path> folders;
  for (const fs::path& folder : folders_in(out_ / inside_)) {
    const bool hidden = folder.filename().string().starts_with('.');
    if (!hidden && is_capture(folder)) folders.push_back(folder);
  }
  for (const fs::path& folder : folders) {
    try {
      // reads the header and checks the stated size
      const SafetensorsFile whole(folder / kMomentsName);
      const fs::path description = folder / kCaptureName;
      CaptureInfo info = CaptureInfo::from_json(read_json_file(description), description.string());
      if (info.vectors) require_vectors(folder, info);
      captures_.push_back({folder, std::move(info), false});
    } catch (const SystemError&) {
      throw;  // the files may be intact, and readable another time
    } catch (const std::runtime_error& damaged) {
      log::warning("{}; this capture is not used", damaged.what());
      damaged_.insert(folder);
    }
  }
}

fs::path CaptureStore::folder_of(const std::string& label) const { return out_ / inside_ / label; }

StoredCapture* CaptureStore::find(const fs::path& folder) {
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const StoredCapture& c) { return c.folder == folder; });
  return found == captures_.end() ? nullptr : &*found;
}

void CaptureStore::forget(const fs::path& folder) {
  std::erase_if(captures_, [&](const StoredCapture& c) { return c.folder == folder; });
}

void CaptureStore::clear(const std::string& label) {
  const fs::path folder = folder_of(label);
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(folder, ignored))) return;
  StoredCapture* there = find(folder);
  if (there != nullptr && there->in_use) {  // it was moved here from another name, as if renamed
    there->folder = free_path(out_ / inside_, label);
    move_folder(folder, there->folder);
    return;
  }
  discard_capture(out_, folder);
  forget(folder);
}

void CaptureStore::adopt(StoredCapture& capture, const CaptureInfo& info) {
  CaptureInfo words = capture.info;
  words.names() = info.names();
  words.config = info.config;
  update_description(capture, words);
  const fs::path target = folder_of(info.label);
  if (capture.folder == target) return;
  clear(info.label);
  log::info("{} is the capture of '{}'", capture.folder.string(), info.label);
  move_folder(capture.folder, target);
  capture.folder = target;
}

const StoredCapture& CaptureStore::add(const std::string& label) {
  const fs::path folder = folder_of(label);
  forget(folder);
  const fs::path description = folder / kCaptureName;
  captures_.push_back(
      {folder, CaptureInfo::from_json(read_json_file(description), description.string()), true});
  return captures_.back();
}

void discard_capture(const fs::path& out, const fs::path& folder) {
  std::error_code ignored;
  const bool empty = fs::is_empty(folder, ignored);
  if (empty || !is_capture(folder) || measured_seconds(folder) < kWorthKeeping) {
    remove_capture(folder);
    return;
  }
  const fs::path parent = out / kReplaced / today(), name = folder.filename();
  const fs::path to = fs::exists(fs::symlink_status(parent / name, ignored))
                          ? free_path(parent, name.string())
                          : parent / name;
  move_folder(folder, to);
  log::info("{}: moved to {} ({}); --prune removes it", folder.string(), to.string(),
            format_bytes(bytes_in(to)));
}

std::vector<fs::path> CaptureStore::unused(const std::vector<std::string>& labels) const {
  std::set<fs::path> protected_folders;
  for (const std::string& label : labels) protected_folders.insert(folder_of(label));
  std::vector<fs::path> paths;
  for (const StoredCapture& capture : captures_) {
    if (!capture.in_use && !protected_folders.contains(capture.folder))
      paths.push_back(capture.folder);
  }
  for (const fs::path& folder : replaced_captures(out_)) paths.push_back(folder);
  for (const SavedState& state : saved_states(out_ / inside_)) {
    const std::string name = state.file.filename().string();
    const bool ours = std::any_of(labels.begin(), labels.end(), [&](const std::string& label) {
      return name.starts_with("." + label + ".state");
    });
    if (!ours) paths.push_back(state.file);
  }
  return paths;
}

void CaptureStore::prune(const std::vector<std::string>& labels) {
  for (const fs::path& path : unused(labels)) {
    std::error_code ignored;
    if (is_folder(path)) {
      remove_capture(path);
    } else {
      fs::remove(path, ignored);
    }
    log::info("{}: removed", path.string());
    forget(path);
  }
  const fs::path replaced = out_ / kReplaced;
  if (!is_folder(replaced)) return;
  std::vector<fs::path> parents = folders_in(replaced);
  parents.push_back(replaced);
  std::error_code ignored;
  // fails, as intended, unless the folder is empty
  for (const fs::path& parent : parents) fs::remove(parent, ignored);
}

}  // namespace ropewalk
