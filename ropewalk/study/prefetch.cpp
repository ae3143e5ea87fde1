#include "ropewalk/study/prefetch.h"

#include <exception>
#include <fstream>
#include <vector>

#include "ropewalk/base/free_memory.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/locate.h"

namespace ropewalk {

Prefetch::Prefetch(const ModelOptions& model, const std::string& label)
    : label_(label), thread_([this, model](std::stop_token stop) {
        try {
          if (model.hub) {
            fetch_weights(shared_hub(), *model.hub, {model.hub->revision, false, stop});
          }
          if (!model.random) read_ahead(model.model, stop);
        } catch (const std::exception& error) {
          log::debug("in the background: {}", error.what());
        }
      }) {}

Prefetch::~Prefetch() {
  thread_.request_stop();
  thread_.join();
  if (read_ > 0) log::debug("{}: {} read ahead", label_, format_bytes(read_));
}

void Prefetch::read_ahead(const std::filesystem::path& folder, const std::stop_token& stop) {
  const Checkpoint checkpoint(folder);
  // Files that are in use stay in the cache as well.
  const int64_t room = free_memory() / 2;
  if (checkpoint.size() > room) {
    log::debug("{}: {} of weights are not read ahead: {} of memory are free for it", label_,
               format_bytes(checkpoint.size()), format_bytes(room));
    return;
  }
  std::vector<char> part(size_t{8} << 20);
  for (const auto& shard : checkpoint.shards()) {
    std::ifstream file(shard->path(), std::ios::binary);
    while (!stop.stop_requested() && file) {
      file.read(part.data(), static_cast<std::streamsize>(part.size()));
      read_ += file.gcount();
    }
  }
}

}  // namespace ropewalk
