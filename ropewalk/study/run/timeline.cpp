#include "ropewalk/study/run/timeline.h"

#include <cmath>

#include "ropewalk/base/log.h"

namespace ropewalk {

Timeline::Span::Span(Timeline& timeline, std::string stage, std::string label)
    : timeline_(timeline),
      stage_(std::move(stage)),
      label_(std::move(label)),
      begin_(timeline.now()) {}

Timeline::Span::~Span() { timeline_.end(stage_, label_, begin_); }

double Timeline::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Timeline::add(const std::string& stage, double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_[stage] += seconds;
}

void Timeline::end(const std::string& stage, const std::string& label, double begin) {
  const double end = now();
  add(stage, end - begin);
  log::debug("time line: {:8.3f} to {:8.3f} s  {}{}{}", begin, end, stage, label.empty() ? "" : " ",
             label);
}

Json Timeline::seconds() const {
  const auto rounded = [](double seconds) { return std::round(seconds * 1000) / 1000; };
  const std::lock_guard lock(mutex_);
  Json all = Json::object();
  for (const auto& [stage, seconds] : seconds_) all[stage] = rounded(seconds);
  all["total"] = rounded(now());
  return all;
}

}  // namespace ropewalk
