#include "ropewalk/hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <exception>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/base/version.h"

namespace ropewalk {
namespace {

constexpr size_t kLongestBody = size_t{64} << 20;

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

Url read_url(const std::string& text) {
  Url url(curl_url(), curl_url_cleanup);
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) {
    throw InputError("'{}' is not an address", printable_excerpt(printable_url(text), 200));
  }
  return url;
}

std::string part_of(const Url& url, CURLUPart part, unsigned int flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  std::string result = text;
  curl_free(text);
  return result;
}

std::string_view trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t\r\n") - start + 1);
}

// Global set-up, done once before any thread needs it.
void set_up_curl() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (done != CURLE_OK) throw SystemError("libcurl cannot start: {}", curl_easy_strerror(done));
}

// An exchange in flight, as libcurl's callbacks see it.
struct Exchange {
  const HttpRequest& request;
  HttpResponse& response;
  CURL* handle = nullptr;
  std::exception_ptr thrown;
};

size_t on_header(const char* data, size_t, size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    const std::string_view line(data, size);
    // Drops the headers of an interim answer.
    if (line.starts_with("HTTP/")) exchange.response.headers.clear();
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      exchange.response.headers[lower_case(trimmed(line.substr(0, colon)))] =
          trimmed(line.substr(colon + 1));
    }
    return size;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
}

size_t on_body(const char* data, size_t, size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    long status = 0;
    curl_easy_getinfo(exchange.handle, CURLINFO_RESPONSE_CODE, &status);
    if (exchange.request.sink && (status == 200 || status == 206)) {
      exchange.request.sink(status, {data, size});
      return size;
    }
    if (exchange.response.body.size() + size > kLongestBody) {
      throw InputError("{}: answers with more than 64 MiB", printable_url(exchange.request.url));
    }
    exchange.response.body.append(data, size);
    return size;
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 0;
  }
}

// libcurl calls it about once a second even where nothing arrives.
int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& exchange = *static_cast<Exchange*>(user);
  try {
    throw_if_interrupted();
  } catch (...) {
    exchange.thrown = std::current_exception();
    return 1;
  }
  return exchange.request.stop.stop_requested() ? 1 : 0;
}

// What is asked for. libcurl copies texts.
void set_request(CURL* handle, const HttpRequest& request, const HttpUrl& url) {
  curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
  // Sizes must be those of the files.
  curl_easy_setopt(handle, CURLOPT_ACCEPT_ENCODING, "identity");
  const std::string agent = fmt::format("ropewalk/{}", version());
  curl_easy_setopt(handle, CURLOPT_USERAGENT, agent.c_str());
  curl_easy_setopt(handle, CURLOPT_NOBODY, request.head ? 1L : 0L);
  if (request.offset > 0 || request.length > 0) {
    std::string range = fmt::format("{}-", request.offset);
    if (request.length > 0) range += std::to_string(request.offset + request.length - 1);
    curl_easy_setopt(handle, CURLOPT_RANGE, range.c_str());
  }
  // Requests to this machine must not leave it: a proxy would see the token, and has a loopback of
  // its own.
  if (url.is_loopback()) curl_easy_setopt(handle, CURLOPT_PROXY, "");
  if (!request.token.empty()) {
    curl_easy_setopt(handle, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(handle, CURLOPT_XOAUTH2_BEARER, request.token.c_str());
  }
}

void set_connection(CURL* handle, const HttpOptions& options) {
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 1L << 18);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.timeout));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.timeout));
  if (!options.ca_file.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAINFO, options.ca_file.c_str());
  }
  if (!options.ca_folder.empty()) {
    curl_easy_setopt(handle, CURLOPT_CAPATH, options.ca_folder.c_str());
  }
}

void set_listener(CURL* handle, Exchange& exchange) {
  curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &exchange);
}

}  // namespace

bool HttpUrl::same_host(const HttpUrl& other) const {
  return scheme == other.scheme && host == other.host && port == other.port;
}

bool HttpUrl::is_loopback() const {
  const bool numeric = host.find_first_not_of("0123456789.") == std::string::npos;
  return host == "localhost" || host == "[::1]" || (numeric && host.starts_with("127."));
}

HttpUrl parse_url(const std::string& url) {
  const Url parsed = read_url(url);
  HttpUrl result{lower_case(part_of(parsed, CURLUPART_SCHEME)),
                 lower_case(part_of(parsed, CURLUPART_HOST)),
                 part_of(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT)};
  if (result.scheme != "http" && result.scheme != "https") {
    throw InputError("{}: is neither an http nor an https address", printable_url(url));
  }
  if (!part_of(parsed, CURLUPART_USER).empty() || !part_of(parsed, CURLUPART_PASSWORD).empty()) {
    throw InputError("{}: contains a user name; expected an address without one",
                     printable_url(url));
  }
  return result;
}

std::string join_url(const std::string& base, const std::string& reference) {
  const Url url = read_url(base);
  if (curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK) {
    throw InputError("{}: redirects to '{}', which is not an address", printable_url(base),
                     printable_excerpt(printable_url(reference), 200));
  }
  return part_of(url, CURLUPART_URL);
}

std::string encode_url(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    result += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return result;
}

std::string printable_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const size_t host = shown.find("://");
  const size_t user = shown.find('@');
  if (host != std::string::npos && user != std::string::npos && user < shown.find('/', host + 3)) {
    shown.erase(host + 3, user - host - 2);
  }
  return shown;
}

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

struct HttpClient::State {
  HttpOptions options;
  CURL* handle = nullptr;
  ~State() { curl_easy_cleanup(handle); }
};

HttpClient::HttpClient(const HttpOptions& options) : state_(std::make_unique<State>()) {
  set_up_curl();
  state_->options = options;
  state_->handle = curl_easy_init();
  if (state_->handle == nullptr) throw SystemError("libcurl cannot make a connection");
}

HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

HttpResponse HttpClient::exchange(const HttpRequest& request) {
  const HttpUrl url = parse_url(request.url);  // refuses other schemes that libcurl knows
  HttpResponse response;
  CURL* handle = state_->handle;
  Exchange exchange{request, response, handle, nullptr};
  curl_easy_reset(handle);  // keeps connections open
  char problem[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, problem);
  set_request(handle, request, url);
  set_connection(handle, state_->options);
  set_listener(handle, exchange);

  const CURLcode done = curl_easy_perform(handle);
  if (exchange.thrown) std::rethrow_exception(exchange.thrown);
  if (request.stop.stop_requested()) throw SystemError("{}: stopped", printable_url(request.url));
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  if (done != CURLE_OK) {
    response.problem = problem[0] != '\0' ? problem : curl_easy_strerror(done);
    response.hopeless = done == CURLE_PEER_FAILED_VERIFICATION || done == CURLE_SSL_CACERT_BADFILE;
    // An answer that is kept in memory is worthless without its whole body.
    if (!request.sink) status = 0;
  }
  response.status = status;
  curl_off_t wait = 0;
  if (curl_easy_getinfo(handle, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0) {
    response.retry_after = static_cast<double>(wait);
  }
  return response;
}

}  // namespace ropewalk
