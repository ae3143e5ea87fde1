#include "ropewalk/study/run/read_ahead.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>

#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/free_memory.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/source/backend_model.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {

namespace {

constexpr size_t kHashers = 4;  // cores used while a checkpoint is measured

// Whether memory has room for the checkpoint. Files that are in use also stay in memory.
bool has_room(const Checkpoint& checkpoint, const std::string& label) {
  const int64_t room = free_memory() / 2;
  if (checkpoint.size() <= room) return true;
  log::debug("{}: {} of weights are not read ahead, because only {} of memory are free", label,
             format_bytes(checkpoint.size()), format_bytes(room));
  return false;
}

}  // namespace

bool reads_directly(const at::Device& device) {
  const char* asked = std::getenv("ROPEWALK_DIRECT_IO");
  return asked != nullptr ? asked == std::string_view("1") : device.is_cuda();
}

ReadAhead::ReadAhead(std::vector<Checkpoint> checkpoints, Timeline& timeline, bool directly)
    : checkpoints_(std::move(checkpoints)),
      timeline_(timeline),
      directly_(directly),
      stop_reading_(checkpoints_.size()),
      opened_(checkpoints_.size()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

ReadAhead::~ReadAhead() {
  thread_.request_stop();
  for (std::stop_source& reading : stop_reading_) reading.request_stop();
  {
    const std::lock_guard lock(mutex_);
    stop_fetching_.request_stop();
  }
  thread_.join();
}

int64_t ReadAhead::index_of(const std::string& label) const {
  return std::find_if(checkpoints_.begin(), checkpoints_.end(),
                      [&](const Checkpoint& one) { return one.label == label; }) -
         checkpoints_.begin();
}

void ReadAhead::begin(const std::string& label) {
  std::unique_lock lock(mutex_);
  begun_ = index_of(label);
  forget_before(static_cast<size_t>(begun_));
  if (fetching_ >= 0 && fetching_ <= begun_) stop_fetching_.request_stop();
  changed_.notify_all();
  changed_.wait(lock, [&] { return fetching_ < 0 || fetching_ > begun_; });
}

ReadAhead::Opened ReadAhead::ready(const std::string& label) {
  const int64_t number = index_of(label);
  {
    const std::lock_guard lock(mutex_);
    ready_ = number;
    changed_.notify_all();
  }
  const auto index = static_cast<size_t>(number);
  return directly_ && is_read_here(index) ? open(index) : nullptr;
}

ReadAhead::Opened ReadAhead::open(size_t index) {
  const std::lock_guard lock(opening_);
  Opened& opened = opened_[index];
  if (opened && opened->is_current()) return opened;
  const auto& [model, label] = checkpoints_[index];
  auto checkpoint = std::make_shared<ropewalk::Checkpoint>(model.model, model.headers);
  if (has_room(*checkpoint, label)) checkpoint->read_directly();
  opened = std::move(checkpoint);
  return opened;
}

bool ReadAhead::is_read_here(size_t index) const {
  const ModelOptions& model = checkpoints_[index].model;
  return !model.random && model.backend != kTransformers;
}

void ReadAhead::forget_before(size_t index) {
  const std::lock_guard lock(opening_);
  for (size_t past = 0; past < index; ++past) {
    stop_reading_[past].request_stop();
    if (opened_[past]) closing_.run([closed = std::move(opened_[past])]() mutable { closed = {}; });
  }
}

void ReadAhead::run(const std::stop_token& stop) {
  limit_cores(kHashers);
  for (size_t index = 0; index < checkpoints_.size(); ++index) {
    const auto number = static_cast<int64_t>(index);
    bool fetched = false;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return begun_ >= number - 1; })) return;
    }
    try {
      fetched = fetch(index);
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return fetched || ready_ >= number; })) return;
      lock.unlock();
      if (is_read_here(index)) read(index, stop);
    } catch (const std::exception& error) {
      log::debug("in the background: {}", error.what());
    }
  }
}

bool ReadAhead::fetch(size_t index) {
  const ModelOptions& model = checkpoints_[index].model;
  if (!model.hub) return true;
  {
    const std::lock_guard lock(mutex_);
    if (begun_ >= static_cast<int64_t>(index)) return false;
    stop_fetching_ = {};
    fetching_ = static_cast<int64_t>(index);
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

void ReadAhead::read(size_t index, const std::stop_token& stop) {
  if (directly_) {
    read_directly(index);
  } else {
    read_into_cache(index, stop);
  }
}

void ReadAhead::read_directly(size_t index) {
  const std::stop_token stop = stop_reading_[index].get_token();
  if (stop.stop_requested()) return;
  const auto& [model, label] = checkpoints_[index];
  const OpenModel opened = open_model(model, open(index));
  if (!opened.checkpoint->is_read_directly()) return;
  const Timeline::Span span(timeline_, "read", label);
  const WeightReader weights = opened.weights();
  opened.checkpoint->read(weights.names(), stop);
  if (!stop.stop_requested()) weights.digest();
  bytes_read_ += opened.checkpoint->bytes_read();
  log::debug("{}: {} read ahead, without the system's cache", label,
             format_bytes(opened.checkpoint->bytes_read()));
}

void ReadAhead::read_into_cache(size_t index, const std::stop_token& stop) {
  const auto& [model, label] = checkpoints_[index];
  const ropewalk::Checkpoint checkpoint(model.model, model.headers);
  if (!has_room(checkpoint, label)) return;
  const Timeline::Span span(timeline_, "read", label);
  std::vector<char> part(size_t{8} << 20);
  const auto number = static_cast<int64_t>(index);
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
