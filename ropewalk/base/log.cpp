#include "ropewalk/base/log.h"

#include <array>
#include <atomic>
#include <mutex>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk::log {
namespace {

std::atomic<Level> current{Level::info};
std::mutex mutex;  // guards the sink
Sink lines;

constexpr std::array<std::pair<std::string_view, Level>, 5> kNames{{{"debug", Level::debug},
                                                                    {"info", Level::info},
                                                                    {"warning", Level::warning},
                                                                    {"error", Level::error},
                                                                    {"off", Level::off}}};

}  // namespace

Level parse_level(std::string_view name) {
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  throw UsageError("log level '{}' is unknown; use debug, info, warning, error or off", name);
}

void set_level(Level level) { current = level; }

Level level() { return current; }

void set_sink(Sink sink) {
  const std::lock_guard lock(mutex);
  lines = std::move(sink);
}

void write(Level level, std::string_view line) {
  const std::lock_guard lock(mutex);
  if (lines) lines(level, printable(line));
}

}  // namespace ropewalk::log
