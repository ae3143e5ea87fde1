#include "ropewalk/study/capture_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ropewalk/base/log.h"
#include "ropewalk/base/processes.h"
#include "ropewalk/moments/moments_state.h"

namespace ropewalk {
namespace fs = std::filesystem;

std::optional<fs::path> own_state(const CaptureOptions& options) {
  if (!options.state || options.vectors) return std::nullopt;
  if (processes::count() == 1) return options.state;
  // With a target, processes read in rounds, and one that is ahead of the others would be lost.
  if (options.target_se) return std::nullopt;
  return options.state->string() + fmt::format("-{}-of-{}", processes::rank(), processes::count());
}

namespace {

// Names of states: .LABEL.state, and .LABEL.state-I-of-N of several processes.
bool is_state_name(const std::string& name) {
  constexpr std::string_view kEnding = ".state";
  const size_t place = name.rfind(kEnding);
  return name.starts_with('.') && place != std::string::npos && place > 0 &&
         name.find_first_not_of("0123456789-of", place + kEnding.size()) == std::string::npos;
}

}  // namespace

void set_aside_foreign_state(const fs::path& file, const fs::path& aside) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(file, ignored)) || read_state_info(file)) return;
  fs::create_directories(aside, ignored);
  fs::path target;
  for (int n = 1; target.empty() || fs::exists(fs::symlink_status(target, ignored)); ++n) {
    target = aside / fmt::format("{}-{}", file.filename().string(), n);
  }
  fs::rename(file, target, ignored);
  log::warning("{}: is no state of an interrupted capture; it is {} now", file.string(),
               target.string());
}

std::optional<SavedState> find_state(const fs::path& state,
                                     const std::function<bool(const Json&)>& fits) {
  std::vector<fs::path> files{state};
  for (const fs::path& file : saved_states(state.parent_path())) {
    if (file != state && file.extension() == ".state") files.push_back(file);
  }
  for (const fs::path& file : files) {
    const std::optional<StateInfo> info = read_state_info(file);
    if (info && fits(info->identity)) return SavedState{file, info->documents};
  }
  return std::nullopt;
}

void remove_states(const fs::path& state, const fs::path& aside) {
  std::error_code ignored;
  set_aside_foreign_state(state, aside);
  fs::remove(state, ignored);
  const std::string others = state.filename().string() + "-";  // and I-of-N
  for (const fs::path& file : saved_states(state.parent_path())) {
    if (file.filename().string().starts_with(others)) fs::remove(file, ignored);
  }
}

std::vector<fs::path> saved_states(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_state_name(entry.path().filename().string()) && read_state_info(entry.path())) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace ropewalk
