#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/hub/http.h"

namespace ropewalk {

// The Hub's address and the cache's folder, from the environment: the variables of the Python
// client `huggingface_hub`, with the same meaning (docs/hub.md).
struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::filesystem::path cache;
  std::string token;     // sent only to the endpoint's own host, and never shown
  bool offline = false;  // use the cache only
  HttpOptions http;
};

// Throws UsageError naming the variable, for instance where a token would be sent unencrypted.
HubSettings hub_settings_from_environment();

}  // namespace ropewalk
