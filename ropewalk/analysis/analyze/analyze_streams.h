#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze/analyze_head.h"

namespace ropewalk {

// Gives the moments of heads, from a moments file or from vectors.
struct StreamSource {
  std::string name;           // for messages
  std::vector<HeadId> heads;  // by layer, then query head
  std::function<StreamInput(const HeadId&)> queries;
  std::function<StreamInput(const HeadId&)> keys;  // of the head's KV head
  LogitUnits units;
};

inline constexpr int64_t kAnyMemory = std::numeric_limits<int64_t>::max();

// Bytes that one core needs at most to analyse the query heads of one KV head.
int64_t group_bytes(int64_t blocks, int64_t d_head);

// Adds every head of a source to a checkpoint, with `components` components each. Query heads that
// read the same keys are analysed together. Such groups are spread over all cores, or over as many
// as fit into `memory` bytes, but at least one.
void analyze_streams(CheckpointTable& checkpoint, const StreamSource& source, int64_t components,
                     int64_t memory = kAnyMemory);

}  // namespace ropewalk
