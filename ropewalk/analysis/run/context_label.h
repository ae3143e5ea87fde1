#pragma once

#include <cstdint>
#include <string>

namespace ropewalk {

// A checkpoint that is measured at several contexts has one result per context, labelled
// NAME@TOKENS. Names of checkpoints in experiments contain no '@'.
std::string label_at(const std::string& name, int64_t context);

struct ContextLabel {
  std::string name;
  int64_t context = 0;  // 0: the label does not state it
};
ContextLabel split_label(const std::string& label);

}  // namespace ropewalk
