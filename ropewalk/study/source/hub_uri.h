#pragma once

#include <string>

#include "ropewalk/hub/cache.h"

namespace ropewalk {

// A place in a dataset of the Hub: hf://datasets/org/name[@revision][/inside].
struct HubUri {
  HubRepository repository;
  std::string revision;  // "main" where it names none
  std::string inside;    // a file or folder; empty: the repository
};

// Whether a text is meant as one: it begins with hf://.
bool is_hub_uri(const std::string& text);

// Throws InputError where it is none; `example` is one that would do.
HubUri parse_hub_uri(const std::string& text, const std::string& example);

}  // namespace ropewalk
