#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ropewalk/study/open_model.h"
#include "ropewalk/study/timeline.h"

namespace ropewalk {

// Brings the weights of checkpoints, in the order in which they are measured, into the system's
// cache of files, where that has room: all of one before the next, and no further than the one
// after that which is being measured. That one is also downloaded. What has not arrived when
// measuring it begins, because of an error or for want of time, is left to an ordinary fetch, which
// goes on from there, shows its progress and reports its errors.
class ReadAhead {
 public:
  struct Checkpoint {
    ModelOptions model;
    std::string label;
  };
  // Notes in the time line when it reads.
  ReadAhead(std::vector<Checkpoint> checkpoints, Timeline& timeline);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Measuring a checkpoint, by its label, begins: from here on it is the caller's to fetch. Then,
  // all of its files are there.
  void begin(const std::string& label);
  void ready(const std::string& label);

  int64_t bytes_read() const { return bytes_read_; }

 private:
  int64_t place_of(const std::string& label) const;
  void run(const std::stop_token& stop);
  // Whether all of it is there.
  bool fetch(size_t place);
  void read(size_t place, const std::stop_token& stop);

  std::vector<Checkpoint> checkpoints_;
  Timeline& timeline_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<int64_t> begun_ = -1;  // the latest that is being measured
  int64_t ready_ = -1;
  int64_t fetching_ = -1;
  std::stop_source stop_fetching_;
  std::atomic<int64_t> bytes_read_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace ropewalk
