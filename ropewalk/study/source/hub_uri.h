#pragma once

#include <string>

#include "ropewalk/hub/cache.h"

namespace ropewalk {

// A path in a dataset on the Hub: hf://datasets/org/name[@revision][/inside].
struct HubUri {
  HubRepository repository;
  std::string revision;  // "main" where the URI names none
  std::string inside;    // a file or folder; empty: the whole repository
};

// Whether a text is meant as a Hub URI: it begins with hf://.
bool is_hub_uri(const std::string& text);

// Throws InputError where the text is not a valid URI; `example` is a valid one, for the message.
HubUri parse_hub_uri(const std::string& text, const std::string& example);

}  // namespace ropewalk
