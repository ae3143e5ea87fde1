#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

// The file in which this process saves the state of an unfinished capture. With several processes,
// each has its own file, and resumes from it if the same number of processes is started again.
std::optional<std::filesystem::path> state_path(const CaptureOptions& options);

// The saved state of an interrupted capture.
struct SavedState {
  std::filesystem::path file;
  StateInfo info;
};
// The saved state for which `fits` is true: the one of this name, or of another label in the same
// folder. Only states of this process are considered. Empty where there is none.
std::optional<SavedState> find_state(const std::filesystem::path& state,
                                     const std::function<bool(const StateInfo&)>& fits);

// Frees a state's name: a file of this name that is damaged, or not a state of ours, is moved to
// `aside`.
void set_aside_foreign_state(const std::filesystem::path& state,
                             const std::filesystem::path& aside);

// Removes the states that captures saved under this name, of all processes. Other files with such
// names are moved to `aside`.
void remove_states(const std::filesystem::path& state, const std::filesystem::path& aside);

// All states that interrupted captures saved in a folder.
std::vector<SavedState> saved_states(const std::filesystem::path& folder);

// Decides when to save: so often that saving takes at most a twentieth of the time.
class SavePacing {
 public:
  bool due() const { return Clock::now() - saved_ >= 20 * cost_; }
  template <typename Save>
  void time(Save save) {
    const auto start = Clock::now();
    save();
    saved_ = Clock::now();
    cost_ = saved_ - start;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point saved_ = Clock::now();
  Clock::duration cost_{0};
};

}  // namespace ropewalk
