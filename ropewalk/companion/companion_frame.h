#pragma once

#include <optional>
#include <string>

#include "ropewalk/companion/companion.h"

namespace ropewalk {

// A message as it comes: a line of JSON that names arrays, their types and shapes, then their
// bytes.
struct CompanionFrame {
  CompanionMessage message;
  size_t bytes = 0;  // that it takes
};

// The frame at the beginning of `unread`; empty where it is incomplete. Makes room for the rest
// of it. Throws where it is not a frame.
std::optional<CompanionFrame> first_frame(std::string& unread);

}  // namespace ropewalk
