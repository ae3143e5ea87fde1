#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>

namespace ropewalk {

// One thread that runs the tasks it is given, in order. Threads that it starts (OpenMP's, for
// example) live as long as it does.
class Worker {
 public:
  // With `aside`, the thread and those that it starts run at low priority.
  explicit Worker(bool aside = false);
  // Finishes the remaining tasks first.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  template <typename Task>
  auto run(Task task) -> std::future<decltype(task())> {
    auto packaged = std::make_shared<std::packaged_task<decltype(task())()>>(std::move(task));
    auto future = packaged->get_future();
    push([packaged] { (*packaged)(); });
    return future;
  }

 private:
  void push(std::function<void()> task);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ropewalk
