#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>

#include "ropewalk/study/open_model.h"

namespace ropewalk {

// Fetches a checkpoint's weights in the background while another one is measured, and reads them
// into the system's cache of files where that has room. Whatever has not arrived when it is
// destroyed, because of an error or for want of time, is left to an ordinary fetch, which goes on
// from there, shows its progress and reports its errors.
class Prefetch {
 public:
  Prefetch(const ModelOptions& model, const std::string& label);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  int64_t bytes_read() const { return read_; }

 private:
  void read_ahead(const std::filesystem::path& folder, const std::stop_token& stop);

  std::string label_;
  std::atomic<int64_t> read_ = 0;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace ropewalk
