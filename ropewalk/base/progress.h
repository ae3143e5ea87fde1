#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace ropewalk {

// How far a job has come.
struct ProgressReport {
  int64_t job = 0;  // tells one from another
  std::string title;
  std::string unit;  // of what is counted, e.g. "tokens"
  int64_t total = 1;
  int64_t done = 0;
  std::string note;    // what is being worked on, e.g. "layer 3/30"
  double seconds = 0;  // since it began
  bool last = false;   // no more will come
};

// Where reports go: nowhere until a program says so (terminal.h). Called often, by the thread that
// works.
using ProgressSink = std::function<void(const ProgressReport& report)>;
void set_progress_sink(ProgressSink sink);

// A job that reports how far it has come. Not thread-safe: one thread reports.
class Progress {
 public:
  Progress(std::string title, std::string unit, int64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(int64_t amount);
  void note(std::string text);
  // Reports the final state; called by the destructor too (which then says what was reached).
  void finish();

 private:
  void report();

  ProgressReport now_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace ropewalk
