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

// Reads the weights of checkpoints before they are needed, in the order in which they are measured:
// one checkpoint after another, at most up to the one after that which is being measured, and only
// where memory has room. That next checkpoint is also downloaded. Files that have not arrived when
// measuring begins, because of an error or for lack of time, are fetched normally; the fetch
// resumes, shows progress and reports errors.
// Weights are read into the system's cache of files; or, with `directly`, past this cache into
// memory of this process (base/files/direct_reading.h), in the order in which layers need them, and
// hashed. The opened checkpoint is then passed on.
class ReadAhead {
 public:
  struct Checkpoint {
    ModelOptions model;
    std::string label;
  };
  using Opened = std::shared_ptr<const ropewalk::Checkpoint>;

  // Records its reading in the timeline.
  ReadAhead(std::vector<Checkpoint> checkpoints, Timeline& timeline, bool directly);
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // To be called when a checkpoint, given by its label, is about to be measured: the caller fetches
  // from now on.
  void begin(const std::string& label);
  // To be called when all of its files have arrived. Returns the opened checkpoint, or null where
  // the caller must open it. Throws what opening it throws.
  Opened ready(const std::string& label);

  int64_t bytes_read() const { return bytes_read_; }

 private:
  int64_t index_of(const std::string& label) const;
  void run(const std::stop_token& stop);
  // Fetches a checkpoint; returns whether all of it has arrived.
  bool fetch(size_t index);
  // The checkpoint is opened once, by whichever thread needs it first, and opened again where its
  // files have changed.
  Opened open(size_t index);
  // Whether this program reads the weights itself.
  bool is_read_here(size_t index) const;
  void forget_before(size_t index);  // drops checkpoints that are no longer needed
  void read(size_t index, const std::stop_token& stop);
  void read_directly(size_t index);
  void read_into_cache(size_t index, const std::stop_token& stop);

  std::vector<Checkpoint> checkpoints_;
  Timeline& timeline_;
  bool directly_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<int64_t> begun_ = -1;  // index of the latest checkpoint that is being measured
  int64_t ready_ = -1;
  int64_t fetching_ = -1;
  std::stop_source stop_fetching_;
  std::vector<std::stop_source> stop_reading_;  // per checkpoint
  std::mutex opening_;
  std::vector<Opened> opened_;  // per checkpoint, until the next one is measured
  std::atomic<int64_t> bytes_read_ = 0;
  Worker closing_;       // freeing gigabytes takes a while
  std::jthread thread_;  // declared last, because it uses the other members
};

// Whether a study on this device reads weights past the system's cache. By default on a GPU, which
// computes faster than the cache can be filled, and whose memory is separate; $ROPEWALK_DIRECT_IO,
// 0 or 1, overrides this.
bool reads_directly(const at::Device& device);

}  // namespace ropewalk
