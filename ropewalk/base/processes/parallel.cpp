#include "ropewalk/base/processes/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ropewalk {
namespace {

thread_local size_t most_cores = 0;

}  // namespace

void limit_cores(size_t most) { most_cores = most; }

size_t core_limit() { return most_cores; }

void run_parallel(size_t count, size_t threads, std::stop_token stop,
                  const std::function<void(size_t, std::stop_token)>& work) {
  std::stop_source stopping;
  const std::stop_callback outside(std::move(stop), [&] { stopping.request_stop(); });
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr first;
  const auto take = [&, cores = most_cores] {
    most_cores = cores;
    for (size_t i = next++; i < count && !stopping.stop_requested(); i = next++) {
      try {
        work(i, stopping.get_token());
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        stopping.request_stop();
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(count, threads); ++i) others.emplace_back(take);
    take();
  }
  if (first) std::rethrow_exception(first);
}

void run_parallel(size_t count, const std::function<void(size_t)>& work) {
  const size_t cores = std::max(1U, std::thread::hardware_concurrency());
  run_parallel(count, most_cores > 0 ? std::min(most_cores, cores) : cores, {},
               [&](size_t i, const std::stop_token&) { work(i); });
}

std::string write_parallel(std::string text, size_t count,
                           const std::function<std::string(size_t)>& write) {
  std::vector<std::string> parts(count);
  run_parallel(count, [&](size_t i) { parts[i] = write(i); });
  size_t size = text.size();
  for (const std::string& part : parts) size += part.size();
  text.reserve(size);
  for (const std::string& part : parts) text += part;
  return text;
}

}  // namespace ropewalk
