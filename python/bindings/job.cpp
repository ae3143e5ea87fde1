#include "python/bindings/job.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/companion/companion.h"

namespace ropewalk::python {
namespace {

// how often the calling thread checks for signals and reports
constexpr auto kLook = std::chrono::milliseconds(50);

// Reports of the work that the calling thread has not yet taken.
struct PendingReports {
  std::vector<std::pair<log::Level, std::string>> lines;
  std::map<int64_t, ProgressReport> progress;  // the latest one per job
  bool done = false;
};

class ReportQueue {
 public:
  void line(log::Level level, std::string_view text) {
    const std::lock_guard lock(mutex_);
    news_.lines.emplace_back(level, text);
  }
  void report(const ProgressReport& report) {
    const std::lock_guard lock(mutex_);
    news_.progress.insert_or_assign(report.job, report);
  }
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      news_.done = true;
    }
    changed_.notify_one();
  }
  // Waits until the work is done, or for a short while; returns the reports since the last call.
  PendingReports wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kLook, [&] { return news_.done; });
    return {std::exchange(news_.lines, {}), std::exchange(news_.progress, {}), news_.done};
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  PendingReports news_;
};

// Redirects the library's log lines and progress reports while a job runs.
class SinkRedirection {
 public:
  SinkRedirection(ReportQueue& box, log::Level level) {
    log::set_level(level);
    log::set_sink([&box](log::Level at, std::string_view text) { box.line(at, text); });
    set_progress_sink([&box](const ProgressReport& report) { box.report(report); });
  }
  ~SinkRedirection() {
    log::set_sink({});
    set_progress_sink({});
    forget_interrupt();
  }
  SinkRedirection(const SinkRedirection&) = delete;
  SinkRedirection& operator=(const SinkRedirection&) = delete;
};

void deliver(nb::handle listener, const PendingReports& news) {
  for (const auto& [level, line] : news.lines) {
    listener.attr("line")(static_cast<int>(level), line.c_str());
  }
  for (const auto& [job, report] : news.progress) {
    listener.attr("progress")(job, report.title.c_str(), report.unit.c_str(), report.total,
                              report.done, report.note.c_str(), report.last);
  }
}

// Runs Python code. The first exception is kept and stops the work; later ones are dropped.
template <typename Code>
void guarded(std::optional<nb::python_error>& failed, const Code& code) {
  if (failed) return;
  try {
    code();
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  } catch (nb::python_error& error) {
    failed.emplace(std::move(error));
    request_interrupt(SIGINT);
  }
}

// When the program exits, Python ends every thread that tries to take the GIL, in a way that C++
// code does not survive. A daemon thread therefore checks this flag first, without the GIL, and
// waits here.
std::atomic<bool> program_ends = false;
void stay_if_program_ends() {
  while (program_ends) ::pause();
}

// The right to run a job: only one thread has it at a time.
class JobLock {
 public:
  JobLock() {
    if (holder == std::this_thread::get_id()) {
      throw UsageError("the listener of a job cannot start another job");
    }
    lock_ = std::unique_lock(one_job, std::defer_lock);
    for (bool mine = false; !mine;) {
      {
        const nb::gil_scoped_release released;
        mine = lock_.try_lock_for(kLook);
        if (mine && program_ends) lock_.unlock();
        stay_if_program_ends();
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    holder = std::this_thread::get_id();
  }
  ~JobLock() { holder = std::thread::id(); }
  JobLock(const JobLock&) = delete;
  JobLock& operator=(const JobLock&) = delete;

  // Waits until the current job has stopped, and lets no other job begin; not even one that has the
  // lock and waits for the GIL. Calling it again does nothing: several threads that use the module
  // first at the same time may each register it.
  static void end() {
    if (program_ends.exchange(true)) return;
    request_interrupt(SIGINT);
    const nb::gil_scoped_release released;
    one_job.lock();
  }

 private:
  inline static std::timed_mutex one_job;
  inline static std::atomic<std::thread::id> holder;  // the thread that started the current job
  std::unique_lock<std::timed_mutex> lock_;
};

}  // namespace

void run_job(nb::handle listener, const std::function<void()>& work) {
  const auto level = static_cast<log::Level>(nb::cast<int>(listener.attr("level")()));
  std::exception_ptr error;
  std::optional<nb::python_error> failed;
  {
    const JobLock turn;
    ReportQueue box;
    const SinkRedirection sinks(box, level);
    std::thread worker([&] {
      try {
        work();
      } catch (...) {
        error = std::current_exception();
      }
      end_shared_companion();  // one per verb
      box.finish();
    });
    for (bool done = false; !done;) {
      PendingReports news;
      {
        const nb::gil_scoped_release released;
        news = box.wait();
      }
      done = news.done;
      guarded(failed, [&] { deliver(listener, news); });
    }
    worker.join();
  }
  {
    const nb::gil_scoped_release released;
    stay_if_program_ends();
  }
  if (failed) throw std::move(*failed);
  if (error) std::rethrow_exception(error);
}

void end_jobs() { JobLock::end(); }

}  // namespace ropewalk::python
