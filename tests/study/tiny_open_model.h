#pragma once

#include <cstdint>

#include "ropewalk/study/source/open_model.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {

// Adds a head to the tiny checkpoint and opens it on the CPU as verbs do that run the whole model.
inline OpenModel open_tiny_model(TinyCheckpoint& tiny, int64_t context, int64_t memory) {
  tiny.add_head();
  ModelOptions options;
  options.model = tiny.open().checkpoint->folder();
  options.device = "cpu";
  options.context = context;
  options.head = true;
  options.memory = memory;
  return open_model(options);
}

}  // namespace ropewalk
