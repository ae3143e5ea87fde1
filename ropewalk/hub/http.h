#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace ropewalk {

struct HttpUrl {
  std::string scheme;  // "http" or "https"
  std::string host;
  std::string port;  // the scheme's own where the address names none

  bool same_host(const HttpUrl& other) const;
  // localhost, 127.0.0.0/8 or ::1.
  bool is_loopback() const;
};

// Throws InputError on anything but http and https, and on an address with a user name.
HttpUrl parse_url(const std::string& url);
// `reference`, which may be relative, as seen from `base`.
std::string join_url(const std::string& base, const std::string& reference);
// Percent-encodes everything but letters, digits and "-._~".
std::string encode_url(std::string_view text);
// An address for messages: without the query, which may hold a signature.
std::string printable_url(const std::string& url);

struct HttpRequest {
  std::string url;
  bool head = false;
  std::string token;   // sent as a bearer token; empty: none
  int64_t offset = 0;  // first byte wanted
  int64_t length = 0;  // bytes wanted; 0: to the end
  // Receives the body of a 200 or 206, once headers are known. Without it the body is kept.
  std::function<void(int64_t status, std::string_view part)> sink;
  std::stop_token stop;
};

struct HttpResponse {
  int64_t status = 0;                          // 0: the exchange failed
  std::string problem;                         // why, in words; also where a body broke off
  bool hopeless = false;                       // and would fail again
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::optional<double> retry_after;  // seconds, as the server asks

  std::string header(const std::string& name) const;  // empty: not there
};

struct HttpOptions {
  int64_t timeout = 10;   // seconds to connect, and without a byte
  std::string ca_file;    // certificates to trust; empty: the system's
  std::string ca_folder;  // the same
};

// One connection that is kept open between requests; for one thread at a time. Proxies come from
// the environment, as libcurl reads it; a loopback address is never asked through one.
class HttpClient {
 public:
  explicit HttpClient(const HttpOptions& options);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  // One exchange by http or https (else InputError); redirects are answers like any other. A body
  // that is kept has at most 64 MiB. Throws Interrupted, whatever `sink` throws, and SystemError
  // once `stop` is requested.
  HttpResponse exchange(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ropewalk
