#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk {

// Where this process saves what it has gathered so far. Each of several has a file of its own, and
// goes on from it where as many processes are started again.
std::optional<std::filesystem::path> state_path(const CaptureOptions& options);

// What an interrupted capture saved.
struct SavedState {
  std::filesystem::path file;
  StateInfo info;
};
// The saved state that `fits`: the one of this name, or of another label in the same folder. Only
// states of this process count. Nothing where none fits.
std::optional<SavedState> find_state(const std::filesystem::path& state,
                                     const std::function<bool(const StateInfo&)>& fits);

// Makes room for a state. A file of its name that is no state, is damaged or is somebody else's is
// moved to `aside`.
void set_aside_foreign_state(const std::filesystem::path& state,
                             const std::filesystem::path& aside);

// Removes the states that captures saved under this name, of all processes. Other files of such
// names are moved to `aside`.
void remove_states(const std::filesystem::path& state, const std::filesystem::path& aside);

// Everything that interrupted captures saved in a folder.
std::vector<SavedState> saved_states(const std::filesystem::path& folder);

// When to save: as often as costs no more than a twentieth of the time.
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
