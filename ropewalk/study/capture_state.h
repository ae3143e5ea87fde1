#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "ropewalk/moments/moments_state.h"
#include "ropewalk/study/capture.h"

namespace ropewalk {

// Where this process saves what it has gathered so far. Each of several has a file of its own, and
// goes on from it where as many processes are started again.
std::optional<std::filesystem::path> own_state(const CaptureOptions& options);

// What an interrupted capture saved.
struct SavedState {
  std::filesystem::path file;
  StateInfo info;
};
// That at this place, or under another label's name in the same folder, which `fits`. Of this
// process alone; nothing where there is none.
std::optional<SavedState> find_state(const std::filesystem::path& state,
                                     const std::function<bool(const StateInfo&)>& fits);

// Makes room for a state: what is in its place and is none, damaged or somebody else's, is moved to
// `aside`.
void set_aside_foreign_state(const std::filesystem::path& state,
                             const std::filesystem::path& aside);

// Removes what captures saved at this place, of however many processes. What is none of theirs is
// moved to `aside`.
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
