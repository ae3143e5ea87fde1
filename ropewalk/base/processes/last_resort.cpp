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
struct Undoings {
  std::mutex mutex;
  std::map<const Undo*, std::function<void()>> all;
  // The cleanup needs memory, and a lack of memory may be the reason for it.
  std::unique_ptr<char[]> reserve = std::make_unique<char[]>(size_t{1} << 20);
};

Undoings& undoings() {
  static auto* const kept = new Undoings;
  return *kept;
}

std::atomic<bool> ending = false;

// Written without locks, because a signal handler reads it. Mappings beyond the size of the array
// go unnamed.
struct Mapping {
  std::atomic<uintptr_t> begin = 0;  // 0: free, 1: being filled
  std::atomic<uintptr_t> end = 0;
  std::atomic<const char*> path = nullptr;
};
std::array<Mapping, 4096> mappings;

}  // namespace

Undo::Undo(std::function<void()> undo) {
  const std::lock_guard lock(undoings().mutex);
  undoings().all.emplace(this, std::move(undo));
}

Undo::~Undo() {
  const std::lock_guard lock(undoings().mutex);
  undoings().all.erase(this);
}

bool first_to_end() { return !ending.exchange(true); }

void undo_all() {
  const std::lock_guard lock(undoings().mutex);
  undoings().reserve.reset();
  for (const auto& [object, undo] : undoings().all) {
    try {
      undo();
    } catch (...) {  // a failed cleanup must not stop the next one
    }
  }
}

void end_now(int exit_code, const std::string& line) {
  if (first_to_end()) {
    undo_all();
    log::error("{}", line);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
  ::_exit(exit_code);
}

void remember_mapping(const std::byte* data, size_t size, const char* path) {
  const auto begin = reinterpret_cast<uintptr_t>(data);
  for (Mapping& mapping : mappings) {
    uintptr_t free = 0;
    if (!mapping.begin.compare_exchange_strong(free, 1)) continue;
    mapping.path = path;
    mapping.end = begin + size;
    mapping.begin = begin;
    return;
  }
}

void forget_mapping(const std::byte* data) {
  for (Mapping& mapping : mappings) {
    if (mapping.begin != reinterpret_cast<uintptr_t>(data)) continue;
    mapping.end = 0;
    mapping.begin = 0;
    return;
  }
}

const char* mapping_at(const void* address) {
  const auto number = reinterpret_cast<uintptr_t>(address);
  for (const Mapping& mapping : mappings) {
    if (mapping.begin > 1 && mapping.begin <= number && number < mapping.end) return mapping.path;
  }
  return nullptr;
}

}  // namespace ropewalk
