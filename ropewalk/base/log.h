#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace ropewalk::log {

enum class Level { debug, info, warning, error, off };

// Throws UsageError on an unknown name.
Level parse_level(std::string_view name);

// Lines go to stderr; standard output belongs to results. The level is process-wide; default info.
void set_level(Level level);
Level level();

// Writes one line, made printable; clears a progress bar first and lets it redraw.
void write(Level level, std::string_view line);

template <typename... Args>
void debug(fmt::format_string<Args...> text, Args&&... args) {
  if (level() <= Level::debug) write(Level::debug, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> text, Args&&... args) {
  if (level() <= Level::info) write(Level::info, fmt::format(text, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> text, Args&&... args) {
  if (level() <= Level::warning) {
    write(Level::warning, fmt::format(text, std::forward<Args>(args)...));
  }
}
template <typename... Args>
void error(fmt::format_string<Args...> text, Args&&... args) {
  if (level() <= Level::error) write(Level::error, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace ropewalk::log
