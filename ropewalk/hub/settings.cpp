#include "ropewalk/hub/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The first of these variables that is set and not empty; otherwise empty.
std::string variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

fs::path home() {
  const std::string folder = variable({"HOME"});
  if (folder.empty()) throw UsageError("HOME is not set; set HF_HOME to a folder for downloads");
  return folder;
}

fs::path expand(const std::string& path) {
  return path == "~" || path.starts_with("~/")
             ? home() / path.substr(std::min<size_t>(2, path.size()))
             : fs::path(path);
}

fs::path hub_home() {
  if (const std::string path = variable({"HF_HOME"}); !path.empty()) return expand(path);
  const std::string caches = variable({"XDG_CACHE_HOME"});
  return (caches.empty() ? home() / ".cache" : expand(caches)) / "huggingface";
}

bool is_true(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return text == "1" || text == "ON" || text == "YES" || text == "TRUE";
}

std::string read_token() {
  constexpr int64_t kLongest = 4096;
  std::string token = variable({"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"});
  std::string source = "HF_TOKEN";
  if (token.empty()) {
    const std::string named = variable({"HF_TOKEN_PATH"});
    const fs::path path = named.empty() ? hub_home() / "token" : expand(named);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return "";
    token = read_text_file(path, kLongest);
    source = path.string();
  }
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!token.empty() && is_space(token.back())) token.pop_back();
  token.erase(token.begin(), std::find_if_not(token.begin(), token.end(), is_space));
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!plain || token.size() > static_cast<size_t>(kLongest)) {
    throw UsageError("{}: is not a token: it has characters that no token has", source);
  }
  return token;
}

int64_t read_timeout() {
  const std::string text = variable({"HF_HUB_DOWNLOAD_TIMEOUT"});
  if (text.empty()) return HttpOptions().timeout;
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 || seconds > 86400) {
    throw UsageError("HF_HUB_DOWNLOAD_TIMEOUT: '{}' is not a number of seconds of at least 1",
                     text);
  }
  return seconds;
}

}  // namespace

HubSettings hub_settings_from_environment() {
  HubSettings settings;
  if (const std::string url = variable({"HF_ENDPOINT"}); !url.empty()) settings.endpoint = url;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const std::string cache = variable({"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"});
  settings.cache = fs::absolute(cache.empty() ? hub_home() / "hub" : expand(cache));
  settings.offline = is_true(variable({"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}));
  settings.token = read_token();
  settings.http.timeout = read_timeout();
  settings.http.ca_file = variable({"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"});
  settings.http.ca_folder = variable({"SSL_CERT_DIR"});
  HttpUrl endpoint;
  try {
    endpoint = parse_url(settings.endpoint);
  } catch (const InputError& error) {
    throw UsageError("HF_ENDPOINT: {}", error.what());
  }
  if (!settings.token.empty() && endpoint.scheme == "http" && !endpoint.is_loopback()) {
    throw UsageError(
        "HF_ENDPOINT {}: the token would be sent unencrypted; use https, or run without the token "
        "(unset HF_TOKEN, set HF_TOKEN_PATH to a file that does not exist)",
        printable_url(settings.endpoint));
  }
  return settings;
}

}  // namespace ropewalk
