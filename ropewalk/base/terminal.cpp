#include "ropewalk/base/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "ropewalk/base/log.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

// A failure to write is ignored: there is nobody to tell, and it must not end the work.
void show(const std::string& text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

bool is_terminal() {
  static const bool terminal = isatty(fileno(stderr)) != 0;
  return terminal;
}

constexpr const char* kWipe = "\r\x1b[K";  // clears the current line of a terminal

const char* prefix(log::Level level) {
  switch (level) {
    case log::Level::debug:
      return "debug: ";
    case log::Level::warning:
      return "warning: ";
    case log::Level::error:
      return "error: ";
    default:
      return "";
  }
}

std::string describe(const ProgressReport& now) {
  const double fraction =
      std::min(1.0, static_cast<double>(now.done) / static_cast<double>(now.total));
  std::string text = fmt::format("{} {:3.0f} %", now.title, 100 * fraction);
  if (now.seconds > 0 && now.done > 0) {
    const double rate = static_cast<double>(now.done) / now.seconds;
    text += fmt::format("  {} {}/s", format_count(rate), now.unit);
    if (now.done < now.total) {
      const double left = static_cast<double>(now.total - now.done) / std::max(rate, 1e-9);
      text += fmt::format("  {} left", format_duration(left));
    } else {
      text += fmt::format("  {}", format_duration(now.seconds));
    }
  }
  if (!now.note.empty()) text += "  " + now.note;
  return text;
}

class ProgressBars {
 public:
  void draw(const ProgressReport& now) {
    if (log::level() > log::Level::info) return;
    LastDrawing& drawn = drawn_[now.job];
    if (is_terminal()) {
      bar(now, drawn);
    } else {
      plain_line(now, drawn);
    }
    if (now.last) drawn_.erase(now.job);
  }

 private:
  // What was last drawn for a job.
  struct LastDrawing {
    double seconds = 0;
    int64_t tenth = 0;
  };

  static void bar(const ProgressReport& now, LastDrawing& drawn) {
    constexpr double kRedraw = 0.2;
    constexpr int kWidth = 24;
    if (!now.last && now.seconds - drawn.seconds < kRedraw) return;
    drawn.seconds = now.seconds;
    const int filled = static_cast<int>(kWidth * std::min(now.done, now.total) / now.total);
    show(fmt::format("{}[{:#<{}}{:.<{}}] {}{}", kWipe, "", filled, "", kWidth - filled,
                     describe(now), now.last ? "\n" : ""));
    std::fflush(stderr);
  }

  static void plain_line(const ProgressReport& now, LastDrawing& drawn) {
    constexpr double kLongest = 30;
    constexpr double kShortest = 2;
    const int64_t tenth = 10 * std::min(now.done, now.total) / now.total;
    const double pause = tenth == drawn.tenth ? kLongest : kShortest;
    if (!now.last && now.seconds - drawn.seconds < pause) return;
    if (now.last && tenth == drawn.tenth && tenth == 10) return;  // was drawn already
    drawn = {now.seconds, tenth};
    show(describe(now) + "\n");
  }

  std::map<int64_t, LastDrawing> drawn_;
};

}  // namespace

void show_on_terminal() {
  log::set_sink([](log::Level level, std::string_view line) {
    show(fmt::format("{}{}{}\n", is_terminal() ? kWipe : "", prefix(level), line));
  });
  set_progress_sink([bars = ProgressBars()](const ProgressReport& now) mutable { bars.draw(now); });
}

}  // namespace ropewalk
