#pragma once

#include <cstdint>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

inline constexpr int64_t kMostTokens = INT32_MAX;  // per document

// Reads `corpus:` of an experiment.
void read_corpus(const YamlValue& value, Experiment& experiment);

}  // namespace ropewalk
