#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze_head.h"

namespace ropewalk {

// Where the moments of heads come from: a moments file, or vectors.
struct StreamSource {
  std::string name;           // for messages
  std::vector<HeadId> heads;  // by layer, then query head
  std::function<StreamInput(const HeadId&)> queries;
  std::function<StreamInput(const HeadId&)> keys;  // of its KV head
  LogitUnits units;
};

// Adds every head of a source to a checkpoint, `components` components each. Query heads that read
// the same keys are analysed together, and such groups are spread over all cores.
void analyze_streams(CheckpointAnalysis& checkpoint, const StreamSource& source,
                     int64_t components);

}  // namespace ropewalk
