#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ropewalk/base/processes/worker.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/study/run/timeline.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Reads the weights of checkpoints, in the order in which they are measured: all of one before the
// next, and no further than the one after that which is being measured, where memory has room. That
// one is also downloaded. What has not arrived when measuring it begins, because of an error or for
// want of time, is left to an ordinary fetch, which goes on from there, shows its progress and
// reports its errors.
//
// Weights are brought into the system's cache of files, where whoever opens them finds them; or,
// `directly`, past it into memory of this process (base/files/direct_reading.h), in the order in
// which layers need them, and hashed: then the opened checkpoint is handed on.
class ReadAhead {
 public:
  struct Checkpoint {
    ModelOptions model;
    std::string label;
  };
  using Opened = std::shared_ptr<const ropewalk::Checkpoint>;

  // Notes in the time line when it reads.
  ReadAhead(std::vector<Checkpoint> checkpoints, Timeline& timeline, bool directly);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Measuring a checkpoint, by its label, begins: from here on it is the caller's to fetch.
  void begin(const std::string& label);
  // All of its files are there. Returns the checkpoint as it is being read, or null where the
  // caller opens it. Throws what opening it throws.
  Opened ready(const std::string& label);

  int64_t bytes_read() const { return bytes_read_; }

 private:
  int64_t index_of(const std::string& label) const;
  void run(const std::stop_token& stop);
  // Whether all of it is there.
  bool fetch(size_t index);
  // Opened once, by whoever comes first, or again where its files are others by now.
  Opened open(size_t index);
  void forget_before(size_t index);  // nobody needs them any more
  void read(size_t index, const std::stop_token& stop);
  void read_directly(size_t index);
  void read_into_cache(size_t index, const std::stop_token& stop);

  std::vector<Checkpoint> checkpoints_;
  Timeline& timeline_;
  bool directly_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<int64_t> begun_ = -1;  // the latest that is being measured
  int64_t ready_ = -1;
  int64_t fetching_ = -1;
  std::stop_source stop_fetching_;
  std::vector<std::stop_source> stop_reading_;  // by checkpoint
  std::mutex opening_;
  std::vector<Opened> opened_;  // by checkpoint, until the next one is measured
  std::atomic<int64_t> bytes_read_ = 0;
  Worker closing_;       // gigabytes take a while to give back
  std::jthread thread_;  // last: it uses the others
};

// Whether a study on this device reads weights past the system's cache: on a GPU, which computes
// faster than the cache takes files, and whose memory is not the machine's; or as
// $ROPEWALK_DIRECT_IO says, 0 or 1.
bool reads_directly(const at::Device& device);

}  // namespace ropewalk
