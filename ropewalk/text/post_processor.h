#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/text/json_part.h"

namespace ropewalk {

// What the `post_processor` section puts around a single text.
struct PostProcessor {
  std::vector<int32_t> prefix;
  std::vector<int32_t> suffix;
};

// Throws InputError on kinds and settings it does not know, and on templates that do not hold the
// text exactly once.
PostProcessor read_post_processor(const JsonPart& part);

}  // namespace ropewalk
