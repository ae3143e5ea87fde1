#pragma once

#include <thread>

#include "ropewalk/checkpoint/hub_checkpoint.h"

namespace ropewalk {

// Fetches a checkpoint's weights in the background while another one is measured. Whatever has not
// arrived when it is destroyed, because of an error or for want of time, is left to an ordinary
// fetch, which goes on from there, shows its progress and reports its errors.
class Prefetch {
 public:
  Prefetch(Hub& hub, const HubCheckpoint& checkpoint);

 private:
  std::jthread thread_;
};

}  // namespace ropewalk
