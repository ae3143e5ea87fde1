#include "ropewalk/study/prefetch.h"

#include <exception>

#include "ropewalk/base/log.h"

namespace ropewalk {

Prefetch::Prefetch(Hub& hub, const HubCheckpoint& checkpoint)
    : thread_([&hub, checkpoint](std::stop_token stop) {
        try {
          fetch_weights(hub, checkpoint, {checkpoint.revision, false, std::move(stop)});
        } catch (const std::exception& error) {
          log::debug("in the background: {}", error.what());
        }
      }) {}

}  // namespace ropewalk
