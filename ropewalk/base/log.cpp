#include "ropewalk/base/log.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk::log {
namespace {

std::atomic<Level> current{Level::info};
std::mutex mutex;

constexpr std::array<std::pair<std::string_view, Level>, 5> kNames{{{"debug", Level::debug},
                                                                    {"info", Level::info},
                                                                    {"warning", Level::warning},
                                                                    {"error", Level::error},
                                                                    {"off", Level::off}}};

std::string_view prefix(Level level) {
  switch (level) {
    case Level::debug:
      return "debug: ";
    case Level::warning:
      return "warning: ";
    case Level::error:
      return "error: ";
    default:
      return "";
  }
}

}  // namespace

Level parse_level(std::string_view name) {
  for (const auto& [known, level] : kNames) {
    if (known == name) return level;
  }
  throw UsageError("log level '{}' is unknown; use debug, info, warning, error or off", name);
}

void set_level(Level level) { current = level; }

Level level() { return current; }

void write(Level level, std::string_view line) {
  std::lock_guard lock(mutex);
  // "\r\x1b[K" wipes a progress bar on the current terminal line; harmless text goes to files
  // without it.
  static const bool terminal = isatty(fileno(stderr)) != 0;
  const std::string text =
      fmt::format("{}{}{}\n", terminal ? "\r\x1b[K" : "", prefix(level), printable(line));
  // Where nobody can be told, there is nobody to tell it to.
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace ropewalk::log
