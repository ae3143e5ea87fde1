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
  std::string port;  // the scheme's default where the address names none

  bool same_host(const HttpUrl& other) const;
  // Whether the host is localhost, 127.0.0.0/8 or ::1.
  bool is_loopback() const;
};

// Throws InputError on anything but http and https, and on an address with a user name.
HttpUrl parse_url(const std::string& url);
// Resolves `reference`, which may be relative, against `base`.
std::string join_url(const std::string& base, const std::string& reference);
// Percent-encodes everything but letters, digits and "-._~".
std::string encode_url(std::string_view text);
// An address for messages, without its query, which may hold a signature.
std::string printable_url(const std::string& url);

struct HttpRequest {
  std::string url;
  bool head = false;
  std::string token;   // sent as a bearer token; empty: none
  int64_t offset = 0;  // first byte wanted
  int64_t length = 0;  // number of bytes wanted; 0: to the end
  // Receives the body of a 200 or 206 once the headers are known. Without a sink the body is kept
  // in memory.
  std::function<void(int64_t status, std::string_view part)> sink;
  std::stop_token stop;
};

struct HttpResponse {
  int64_t status = 0;                          // 0: the exchange failed
  std::string problem;                         // the reason in words; also where a body broke off
  bool hopeless = false;                       // a retry would fail again
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::optional<double> retry_after;  // seconds that the server asks to wait

  std::string header(const std::string& name) const;  // empty where there is no such header
};

struct HttpOptions {
  int64_t timeout = 10;   // seconds to connect, and seconds without a byte
  std::string ca_file;    // certificates to trust; empty: the system's
  std::string ca_folder;  // folder of certificates to trust; empty: the system's
};

// One connection that stays open between requests, for one thread at a time. libcurl reads proxies
// from the environment; requests to a loopback address never use one.
class HttpClient {
 public:
  explicit HttpClient(const HttpOptions& options);
  ~HttpClient();
  HttpClient(HttpClient&&) noexcept;

  // One exchange by http or https (InputError for other schemes); a redirect is an answer like any
  // other. A body that is kept has at most 64 MiB. Throws Interrupted, whatever `sink` throws, and
  // SystemError once `stop` is requested.
  HttpResponse exchange(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ropewalk
