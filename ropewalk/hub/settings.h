#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/hub/http.h"

namespace ropewalk {

// Where the Hugging Face Hub is and where its files are kept, as the environment says: the
// variables of the Python client `huggingface_hub`, with the same meaning (docs/hub.md).
struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::filesystem::path cache;
  std::string token;     // sent to the endpoint's own host alone, and never shown
  bool offline = false;  // only what is in the cache
  HttpOptions http;
};

// Throws UsageError naming the variable, for instance where a token would travel unencrypted.
HubSettings hub_settings_from_environment();

}  // namespace ropewalk
