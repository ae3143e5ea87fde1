#pragma once

#include <cstdint>
#include <string>

namespace ropewalk {

// A checkpoint that is measured at several contexts has results for each, labelled NAME@TOKENS.
// Names of checkpoints in experiments hold no '@'.
std::string label_at(const std::string& name, int64_t context);

struct ContextLabel {
  std::string name;
  int64_t context = 0;  // 0: the label does not say
};
ContextLabel split_label(const std::string& label);

}  // namespace ropewalk
