#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ropewalk {

// A progress bar on stderr with rate and time left. On a terminal it is one line redrawn a few
// times a second; elsewhere a plain line every ten per cent (but not within two seconds of the
// last one), at least every 30 seconds, and at the end. Silent when the log level is above info.
// Not thread-safe: one thread reports.
class Progress {
 public:
  // `unit` names what `total` counts, e.g. "tokens".
  Progress(std::string title, std::string unit, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t amount);
  // What is being worked on, shown after the numbers, e.g. "layer 3/30".
  void note(std::string text);
  // Draws the final state; called by the destructor too (which then shows what was reached).
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(bool last);
  std::string line() const;

  std::string title_;
  std::string unit_;
  int64_t total_;
  int64_t done_ = 0;
  std::string note_;
  bool terminal_;
  bool quiet_;
  bool finished_ = false;
  int64_t last_tenth_ = 0;
  Clock::time_point start_;
  Clock::time_point drawn_;
};

}  // namespace ropewalk
