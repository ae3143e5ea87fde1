#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ropewalk::log {

enum class Level { debug, info, warning, error, off };

// Throws UsageError on an unknown name.
Level parse_level(std::string_view name);

// The level is process-wide; the default is info.
void set_level(Level level);
Level level();

// Receives lines, made printable, one at a time. There is no sink until a program sets one
// (terminal.h).
using Sink = std::function<void(Level level, std::string_view line)>;
void set_sink(Sink sink);

// Hands one line to the sink.
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
