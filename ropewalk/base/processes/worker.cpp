#include "ropewalk/base/processes/worker.h"

#include <sys/resource.h>
#include <unistd.h>

#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

constexpr int kNicer = 10;

}  // namespace

Worker::Worker(bool aside)
    : thread_([this, aside, cores = core_limit()] {
        limit_cores(cores);
        // Linux sets the priority per thread, and threads inherit it from the thread that starts
        // them.
        if (aside) {
          const auto own = static_cast<id_t>(::gettid());
          ::setpriority(PRIO_PROCESS, own, ::getpriority(PRIO_PROCESS, own) + kNicer);
        }
        for (;;) {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
          if (tasks_.empty()) return;
          const std::function<void()> task = std::move(tasks_.front());
          tasks_.pop();
          lock.unlock();
          task();
        }
      }) {}

Worker::~Worker() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Worker::push(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push(std::move(task));
  }
  changed_.notify_one();
}

}  // namespace ropewalk
