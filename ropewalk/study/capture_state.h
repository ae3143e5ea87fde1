#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "ropewalk/study/capture.h"

namespace ropewalk {

// Where this process saves what it has gathered so far. Each of several has a file of its own, and
// goes on from it where as many processes are started again.
std::optional<std::filesystem::path> own_state(const CaptureOptions& options);

// Removes what captures saved at this place, of however many processes.
void remove_states(const std::filesystem::path& state);

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
