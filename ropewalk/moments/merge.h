#pragma once

#include <string>
#include <vector>

#include "ropewalk/moments/moments_file.h"

namespace ropewalk {

struct NamedMoments {
  std::string name;  // for messages
  CaptureMoments moments;
};

// Joins captures of one model on different documents. Everything that decides what a number means
// must agree; a difference, or a document present twice, is an InputError naming the field and both
// sources. Inputs are added in order of their lowest document index, so their order here does not
// matter.
CaptureMoments merge_moments(std::vector<NamedMoments> inputs);

// What the inputs together visibly lack of the documents they were dealt from, in words: shards, or
// documents between others. Empty where there is nothing.
std::string describe_missing(const std::vector<NamedMoments>& inputs);

}  // namespace ropewalk
