#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace ropewalk {

// The progress of a job.
struct ProgressReport {
  int64_t job = 0;  // tells jobs apart
  std::string title;
  std::string unit;  // what is counted: "tokens"
  int64_t total = 1;
  int64_t done = 0;
  std::string note;    // the current step: "layer 3/30"
  double seconds = 0;  // since the job began
  bool last = false;   // no more reports will come
};

// Receives reports. There is no sink until a program sets one (terminal.h). It is called often, on
// the working thread.
using ProgressSink = std::function<void(const ProgressReport& report)>;
void set_progress_sink(ProgressSink sink);

// A job that reports its progress. Not thread-safe: one thread reports.
class Progress {
 public:
  Progress(std::string title, std::string unit, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t amount);
  void note(std::string text);
  // Reports the final state. The destructor calls it too, and then reports how far the job came.
  void finish();

 private:
  void report();

  ProgressReport now_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ropewalk
