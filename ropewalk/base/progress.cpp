#include "ropewalk/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(200);
constexpr auto kPlainLine = std::chrono::seconds(30);
constexpr auto kPlainPause = std::chrono::seconds(2);
constexpr int kBarWidth = 24;

// A bar that cannot be shown must not end the work.
void show(const std::string& text) {
  [[maybe_unused]] const size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

Progress::Progress(std::string title, std::string unit, int64_t total)
    : title_(std::move(title)),
      unit_(std::move(unit)),
      total_(std::max<int64_t>(total, 1)),
      terminal_(isatty(fileno(stderr)) != 0),
      quiet_(log::level() > log::Level::info),
      start_(Clock::now()),
      drawn_(start_) {}

Progress::~Progress() { finish(); }

void Progress::advance(int64_t amount) {
  done_ += amount;
  draw(false);
}

void Progress::note(std::string text) {
  note_ = std::move(text);
  draw(false);
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  draw(true);
}

std::string Progress::line() const {
  const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
  const double fraction = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
  std::string text = fmt::format("{} {:3.0f} %", title_, 100 * fraction);
  if (elapsed > 0 && done_ > 0) {
    const double rate = static_cast<double>(done_) / elapsed;
    text += fmt::format("  {} {}/s", format_count(rate), unit_);
    if (done_ < total_) {
      text += fmt::format(
          "  {} left", format_duration(static_cast<double>(total_ - done_) / std::max(rate, 1e-9)));
    } else {
      text += fmt::format("  {}", format_duration(elapsed));
    }
  }
  if (!note_.empty()) text += "  " + note_;
  return text;
}

void Progress::draw(bool last) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (terminal_) {
    if (!last && now - drawn_ < kRedraw) return;
    drawn_ = now;
    const int filled = static_cast<int>(kBarWidth * std::min<int64_t>(done_, total_) / total_);
    show(fmt::format("\r\x1b[K[{:#<{}}{:.<{}}] {}{}", "", filled, "", kBarWidth - filled, line(),
                     last ? "\n" : ""));
    std::fflush(stderr);
    return;
  }
  const int64_t tenth = 10 * std::min(done_, total_) / total_;
  if (!last && now - drawn_ < (tenth == last_tenth_ ? kPlainLine : kPlainPause)) return;
  if (last && tenth == last_tenth_ && tenth == 10) return;  // already said
  last_tenth_ = tenth;
  drawn_ = now;
  show(line() + "\n");
}

}  // namespace ropewalk
