#include "ropewalk/base/version.h"

#include <fmt/format.h>

namespace ropewalk {

std::string version() { return ROPEWALK_VERSION; }

std::string version_details() {
  return fmt::format("{} (torch {}, arrow {})", ROPEWALK_VERSION, ROPEWALK_TORCH_VERSION,
                     ROPEWALK_ARROW_VERSION);
}

}  // namespace ropewalk
