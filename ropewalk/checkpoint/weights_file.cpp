#include "ropewalk/checkpoint/weights_file.h"

#include <fmt/ranges.h>

namespace ropewalk {

std::string format_shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace ropewalk
