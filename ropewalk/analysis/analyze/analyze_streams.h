#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze/analyze_head.h"

namespace ropewalk {

// Where the moments of heads come from: a moments file, or vectors.
struct StreamSource {
  std::string name;           // for messages
  std::vector<HeadId> heads;  // by layer, then query head
  std::function<StreamInput(const HeadId&)> queries;
  std::function<StreamInput(const HeadId&)> keys;  // of its KV head
  LogitUnits units;
};

inline constexpr int64_t kAnyMemory = std::numeric_limits<int64_t>::max();

// Bytes that a core takes at most while it analyses query heads that read the same keys, of so many
// dimensions in so many blocks.
int64_t group_bytes(int64_t blocks, int64_t d_head);

// Adds every head of a source to a checkpoint, `components` components each. Query heads that read
// the same keys are analysed together, and such groups are spread over all cores, or over as many
// as `memory` bytes are enough for, at least one.
void analyze_streams(CheckpointTable& checkpoint, const StreamSource& source, int64_t components,
                     int64_t memory = kAnyMemory);

}  // namespace ropewalk
