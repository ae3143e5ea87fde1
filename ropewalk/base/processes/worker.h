#pragma once

#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>

namespace ropewalk {

// One thread that does what it is given, in order. Its own threads (OpenMP's, say) live as long.
class Worker {
 public:
  // `aside`: it and its threads take what others leave of the processors.
  explicit Worker(bool aside = false);
  // Does what is left first.
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
