#include "ropewalk/base/processes/last_resort.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "ropewalk/base/log.h"

namespace ropewalk {
namespace {

// Never destroyed: the program may end on another thread while this one destroys statics.
struct ExitCleanups {
  std::mutex mutex;
  std::map<const ExitCleanup*, std::function<void()>> all;
  // The cleanup needs memory, and a lack of memory may be the reason for it.
  std::unique_ptr<char[]> reserve = std::make_unique<char[]>(size_t{1} << 20);
};

ExitCleanups& exit_cleanups() {
  static auto* const kept = new ExitCleanups;
  return *kept;
}

std::atomic<bool> ending = false;

// Written without locks, because a signal handler reads it. Mappings beyond the size of the array
// go unnamed.
struct RememberedMapping {
  std::atomic<uintptr_t> begin = 0;  // 0: free, 1: being filled
  std::atomic<uintptr_t> end = 0;
  std::atomic<const char*> path = nullptr;
};
std::array<RememberedMapping, 4096> mappings;

}  // namespace

ExitCleanup::ExitCleanup(std::function<void()> undo) {
  const std::lock_guard lock(exit_cleanups().mutex);
  exit_cleanups().all.emplace(this, std::move(undo));
}

ExitCleanup::~ExitCleanup() {
  const std::lock_guard lock(exit_cleanups().mutex);
  exit_cleanups().all.erase(this);
}

bool is_first_to_end() { return !ending.exchange(true); }

void reserve_memory_for_exit() { exit_cleanups(); }

void run_exit_cleanups() {
  const std::lock_guard lock(exit_cleanups().mutex);
  exit_cleanups().reserve.reset();
  for (const auto& [object, undo] : exit_cleanups().all) {
    try {
      undo();
    } catch (...) {  // a failed cleanup must not stop the next one
    }
  }
}

void end_process(int exit_code, const std::string& line) {
  if (is_first_to_end()) {
    run_exit_cleanups();
    log::error("{}", line);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  ::_exit(exit_code);
}

void remember_mapping(const std::byte* data, size_t size, const char* path) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (RememberedMapping& mapping : mappings) {
    uintptr_t free = 0;
    if (!mapping.begin.compare_exchange_strong(free, 1)) continue;
    mapping.path = path;
    mapping.end = begin + size;
    mapping.begin = begin;
    return;
  }
}

void forget_mapping(const std::byte* data) {
  for (RememberedMapping& mapping : mappings) {
    if (mapping.begin != reinterpret_cast<uintptr_t>(data)) continue;
    mapping.end = 0;
    mapping.begin = 0;
    return;
  }
}

const char* mapping_at(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  for (const RememberedMapping& mapping : mappings) {
    if (mapping.begin > 1 && mapping.begin <= number && number < mapping.end) return mapping.path;
  }
  return nullptr;
}

}  // namespace ropewalk
