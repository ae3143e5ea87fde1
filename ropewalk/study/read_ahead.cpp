#include "ropewalk/study/read_ahead.h"

#include <algorithm>
#include <exception>
#include <fstream>

#include "ropewalk/base/free_memory.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/locate.h"

namespace ropewalk {

ReadAhead::ReadAhead(std::vector<Checkpoint> checkpoints, Timeline& timeline)
    : checkpoints_(std::move(checkpoints)),
      timeline_(timeline),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  {
    const std::lock_guard lock(mutex_);
    stop_fetching_.request_stop();
  }
  thread_.join();
}

int64_t ReadAhead::place_of(const std::string& label) const {
  return std::find_if(checkpoints_.begin(), checkpoints_.end(),
                      [&](const Checkpoint& one) { return one.label == label; }) -
         checkpoints_.begin();
}

void ReadAhead::begin(const std::string& label) {
  std::unique_lock lock(mutex_);
  begun_ = place_of(label);
  if (fetching_ >= 0 && fetching_ <= begun_) stop_fetching_.request_stop();
  changed_.notify_all();
  changed_.wait(lock, [&] { return fetching_ < 0 || fetching_ > begun_; });
}

void ReadAhead::ready(const std::string& label) {
  const std::lock_guard lock(mutex_);
  ready_ = place_of(label);
  changed_.notify_all();
}

void ReadAhead::run(const std::stop_token& stop) {
  for (size_t place = 0; place < checkpoints_.size(); ++place) {
    const auto number = static_cast<int64_t>(place);
    bool fetched = false;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return begun_ >= number - 1; })) return;
    }
    try {
      fetched = fetch(place);
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return fetched || ready_ >= number; })) return;
      lock.unlock();
      if (!checkpoints_[place].model.random) read(place, stop);
    } catch (const std::exception& error) {
      log::debug("in the background: {}", error.what());
    }
  }
}

bool ReadAhead::fetch(size_t place) {
  const ModelOptions& model = checkpoints_[place].model;
  if (!model.hub) return true;
  {
    const std::lock_guard lock(mutex_);
    if (begun_ >= static_cast<int64_t>(place)) return false;
    stop_fetching_ = {};
    fetching_ = static_cast<int64_t>(place);
  }
  bool there = true;
  try {
    fetch_weights(shared_hub(), *model.hub,
                  {model.hub->revision, false, stop_fetching_.get_token()});
    there = !stop_fetching_.stop_requested();
  } catch (const std::exception& error) {
    log::debug("in the background: {}", error.what());
    there = false;
  }
  const std::lock_guard lock(mutex_);
  fetching_ = -1;
  changed_.notify_all();
  return there;
}

void ReadAhead::read(size_t place, const std::stop_token& stop) {
  const auto& [model, label] = checkpoints_[place];
  const ropewalk::Checkpoint checkpoint(model.model);
  // Files that are in use stay in the cache as well.
  const int64_t room = free_memory() / 2;
  if (checkpoint.size() > room) {
    log::debug("{}: {} of weights are not read ahead: {} of memory are free for it", label,
               format_bytes(checkpoint.size()), format_bytes(room));
    return;
  }
  const Timeline::Span span(timeline_, "read", label);
  std::vector<char> part(size_t{8} << 20);
  const auto number = static_cast<int64_t>(place);
  int64_t read = 0;
  for (const auto& shard : checkpoint.shards()) {
    std::ifstream file(shard->path(), std::ios::binary);
    while (!stop.stop_requested() && begun_ <= number && file) {
      file.read(part.data(), static_cast<std::streamsize>(part.size()));
      read += file.gcount();
      bytes_read_ += file.gcount();
    }
  }
  log::debug("{}: {} read ahead", label, format_bytes(read));
}

}  // namespace ropewalk
