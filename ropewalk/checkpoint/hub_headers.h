#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/base/processes/last_resort.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"

namespace ropewalk {

// A temporary checkpoint folder with the config of a Hub checkpoint and the headers of its weight
// files; all tensors are zero. It lets a model of many gigabytes be inspected for some kilobytes of
// download. Headers alone cannot be verified, so nothing is computed with them and nothing enters
// the cache.
class HubHeaders {
 public:
  HubHeaders(Hub& hub, const HubCheckpoint& checkpoint);
  ~HubHeaders();
  HubHeaders(const HubHeaders&) = delete;
  HubHeaders& operator=(const HubHeaders&) = delete;

  const std::filesystem::path& folder() const { return folder_; }

 private:
  void remove() const;

  std::filesystem::path folder_;
  std::optional<ExitCleanup> undo_;
};

}  // namespace ropewalk
