#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Records which stage of a study ran when, on which checkpoint. Stages overlap, and any thread may
// have one. Each is logged at the level debug when it ends.
class Timeline {
 public:
  // A stage that lasts as long as this object.
  class Span {
   public:
    Span(Timeline& timeline, std::string stage, std::string label = {});
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    Timeline& timeline_;
    std::string stage_;
    std::string label_;
    double begin_;
  };

  // Adds seconds within another stage that count as a stage of their own.
  void add(const std::string& stage, double seconds);
  // Seconds since the study began.
  double now() const;
  // The total seconds of each stage, and from the beginning until now.
  Json seconds() const;

 private:
  void end(const std::string& stage, const std::string& label, double begin);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::map<std::string, double> seconds_;
};

}  // namespace ropewalk
