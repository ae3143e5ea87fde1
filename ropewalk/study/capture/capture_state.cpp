#include "ropewalk/study/capture/capture_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;

std::optional<fs::path> state_path(const CaptureOptions& options) {
  if (!options.state || options.vectors) return std::nullopt;
  const Communicator& processes = options.model.processes;
  if (processes.alone()) return options.state;
  return options.state->string() + fmt::format("-{}-of-{}", processes.rank(), processes.count());
}

namespace {

// Names of states: .LABEL.state, or .LABEL.state-I-of-N for several processes.
bool is_state_name(const std::string& name) {
  constexpr std::string_view kEnding = ".state";
  const size_t at = name.rfind(kEnding);
  return name.starts_with('.') && at != std::string::npos && at > 0 &&
         name.find_first_not_of("0123456789-of", at + kEnding.size()) == std::string::npos;
}

}  // namespace

void set_aside_foreign_state(const fs::path& file, const fs::path& aside) {
  std::error_code ignored;
  if (!fs::exists(fs::symlink_status(file, ignored)) || read_state_info(file)) return;
  fs::create_directories(aside, ignored);
  const fs::path target = free_path(aside, file.filename().string());
  fs::rename(file, target, ignored);
  log::warning("{}: is not the state of an interrupted capture; moved to {}", file.string(),
               target.string());
}

std::optional<SavedState> find_state(const fs::path& state,
                                     const std::function<bool(const StateInfo&)>& fits) {
  std::optional<SavedState> found;
  for (SavedState& saved : saved_states(state.parent_path())) {
    const bool own = saved.file == state;
    if (saved.file.extension() != ".state" || (found && !own) || !fits(saved.info)) continue;
    found = std::move(saved);
    if (own) break;
  }
  return found;
}

void remove_states(const fs::path& state, const fs::path& aside) {
  std::error_code ignored;
  set_aside_foreign_state(state, aside);
  fs::remove(state, ignored);
  const std::string others = state.filename().string() + "-";  // followed by I-of-N
  for (const SavedState& saved : saved_states(state.parent_path())) {
    if (saved.file.filename().string().starts_with(others)) fs::remove(saved.file, ignored);
  }
}

std::vector<SavedState> saved_states(const fs::path& folder) {
  std::vector<SavedState> states;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (!is_state_name(entry.path().filename().string())) continue;
    if (auto info = read_state_info(entry.path())) states.push_back({entry.path(), *info});
  }
  std::sort(states.begin(), states.end(),
            [](const SavedState& a, const SavedState& b) { return a.file < b.file; });
  return states;
}

}  // namespace ropewalk
