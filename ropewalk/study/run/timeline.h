#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Which stage of a study ran when, on which checkpoint. Stages overlap; any thread may have one.
// Each is logged, at the level debug, when it ends.
class Timeline {
 public:
  // A stage from here to the end of this object.
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

  // Seconds within another stage that are a stage of their own.
  void add(const std::string& stage, double seconds);
  // Seconds since the study began.
  double now() const;
  // Of each stage in all, and from the beginning until now.
  Json seconds() const;

 private:
  void end(const std::string& stage, const std::string& label, double begin);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;
  std::map<std::string, double> seconds_;
};

}  // namespace ropewalk
