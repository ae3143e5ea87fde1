#include "ropewalk/base/progress.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace ropewalk {
namespace {

ProgressSink reports;
std::atomic<int64_t> jobs = 0;

}  // namespace

void set_progress_sink(ProgressSink sink) { reports = std::move(sink); }

Progress::Progress(std::string title, std::string unit, int64_t total) {
  now_.job = ++jobs;
  now_.title = std::move(title);
  now_.unit = std::move(unit);
  now_.total = std::max<int64_t>(total, 1);
}

Progress::~Progress() { finish(); }

void Progress::advance(int64_t amount) {
  now_.done += amount;
  report();
}

void Progress::note(std::string text) {
  now_.note = std::move(text);
  report();
}

void Progress::finish() {
  if (now_.last) return;
  now_.last = true;
  report();
}

void Progress::report() {
  if (!reports) return;
  const auto elapsed = std::chrono::steady_clock::now() - start_;
  now_.seconds = std::chrono::duration<double>(elapsed).count();
  reports(now_);
}

}  // namespace ropewalk
