#include "ropewalk/hub/requests.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <sstream>
#include <system_error>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

constexpr int kRedirects = 10;
constexpr double kLongestWait = 900;  // seconds

bool is_redirect(int64_t status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool is_passing(const HttpResponse& response) {
  return response.status == 0 || response.status == 408 || response.status == 429 ||
         response.status >= 500;
}

// Seconds until the Hub's rate limit is lifted, of a header such as RateLimit: "api";r=0;t=55
std::optional<double> rate_limit_reset(const HttpResponse& response) {
  std::istringstream limit(response.header("ratelimit"));
  bool used_up = false;
  std::optional<double> reset;
  for (std::string part; std::getline(limit >> std::ws, part, ';');) {
    used_up = used_up || part == "r=0";
    if (!part.starts_with("t=")) continue;
    uint32_t seconds = 0;  // is never negative
    const char* end = part.data() + part.size();
    const auto read = std::from_chars(part.data() + 2, end, seconds);
    if (read.ptr != end) continue;
    const bool beyond = read.ec == std::errc::result_out_of_range;
    reset = beyond ? std::numeric_limits<uint32_t>::max() : seconds;
  }
  return used_up ? reset : std::nullopt;
}

std::string describe(const HttpResponse& response) {
  return response.status == 0 ? response.problem : fmt::format("HTTP {}", response.status);
}

}  // namespace

void wait_or_throw(double seconds, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    throw_if_interrupted();
    if (stop.stop_requested()) throw SystemError("stopped while waiting");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void fail_request(const HttpResponse& response, const std::string& what) {
  const std::string code = response.header("x-error-code");
  if (code == "GatedRepo") {
    throw InputError(
        "{}: is gated; accept its conditions on its page and set HF_TOKEN to a token of the same "
        "account",
        what);
  }
  if (code == "RevisionNotFound") throw InputError("{}: the Hub has no such revision", what);
  if (code == "EntryNotFound") throw InputError("{}: the Hub has no such file", what);
  if (code == "RepoNotFound" || response.status == 401 || response.status == 404) {
    throw InputError(
        "{}: the Hub has no such repository, or it is private; check the name, or set HF_TOKEN",
        what);
  }
  if (response.status == 403) {
    throw InputError("{}: the Hub refuses access (HTTP 403); check the permissions of HF_TOKEN",
                     what);
  }
  throw InputError("{}: the Hub answers HTTP {}, expected 200", what, response.status);
}

double backoff(int attempt) { return std::min(16.0, std::exp2(attempt - 1)); }

HubRequests::HubRequests(const HubSettings& settings, HttpClient& client, std::stop_token stop)
    : settings_(settings),
      endpoint_(parse_url(settings.endpoint)),
      stop_(std::move(stop)),
      client_(client) {}

HttpResponse HubRequests::follow(HttpRequest request, bool leave_host) {
  std::map<std::string, std::string> kept;
  const std::string first = request.url;
  for (int hop = 0; hop <= kRedirects; ++hop) {
    const HttpUrl url = parse_url(request.url);
    const bool home = url.same_host(endpoint_);
    request.token = home ? settings_.token : "";
    HttpResponse response = client_.exchange(request);
    log::debug("{} {}: {}", request.head ? "HEAD" : "GET", printable_url(request.url),
               describe(response));
    for (const char* name : {"x-repo-commit", "x-linked-etag", "x-linked-size"}) {
      // Only the endpoint's headers count; the host of the bytes may say anything.
      if (home && !response.header(name).empty()) kept.try_emplace(name, response.header(name));
    }
    const std::string location = response.header("location");
    const bool redirect = is_redirect(response.status) && !location.empty();
    const std::string target = redirect ? join_url(request.url, location) : "";
    if (!redirect || (!leave_host && !parse_url(target).same_host(endpoint_))) {
      for (const auto& [name, value] : kept) response.headers[name] = value;
      return response;
    }
    if (url.scheme == "https" && parse_url(target).scheme == "http") {
      throw InputError("{}: redirects from https to plain http ({}); refused", printable_url(first),
                       printable_url(target));
    }
    request.url = target;
  }
  throw InputError("{}: redirects more than {} times", printable_url(first), kRedirects);
}

HttpResponse HubRequests::persist(const HttpRequest& request, bool leave_host) {
  bool received = false;
  HttpRequest watched = request;
  if (request.sink) {
    watched.sink = [&](int64_t status, std::string_view part) {
      received = true;
      request.sink(status, part);
    };
  }
  for (int attempt = 1;; ++attempt) {
    throw_if_interrupted();
    HttpResponse response = follow(watched, leave_host);
    if (received || !is_passing(response)) return response;
    if (response.hopeless) {
      throw SystemError("{}: {}; is SSL_CERT_FILE right?", printable_url(request.url),
                        response.problem);
    }
    const double wait =
        response.retry_after.value_or(rate_limit_reset(response).value_or(backoff(attempt)));
    if (attempt == kAttempts || wait > kLongestWait) {
      const std::string asked =
          wait > kLongestWait ? fmt::format("; the server asks to wait {}", format_duration(wait))
                              : fmt::format(", {} times", attempt);
      throw SystemError("{}: {}{}; try again later", printable_url(request.url), describe(response),
                        asked);
    }
    log::info("{}: {}; trying again in {}", printable_url(request.url), describe(response),
              format_duration(wait));
    wait_or_throw(wait, stop_);
  }
}

HttpResponse HubRequests::head(const std::string& path) {
  HttpRequest request;
  request.url = settings_.endpoint + path;
  request.head = true;
  request.stop = stop_;
  return persist(request, false);
}

HttpResponse HubRequests::get(const std::string& path) {
  HttpRequest request;
  request.url = path.starts_with('/') ? settings_.endpoint + path : path;
  request.stop = stop_;
  if (!parse_url(request.url).same_host(endpoint_)) {
    throw InputError("{}: the next page of a list is on another host, {}; refused",
                     printable_url(settings_.endpoint), printable_url(request.url));
  }
  return persist(request, true);
}

HttpResponse HubRequests::get_part(const std::string& path, int64_t offset, int64_t length) {
  HttpRequest request;
  request.url = settings_.endpoint + path;
  request.offset = offset;
  request.length = length;
  request.stop = stop_;
  return persist(request, true);
}

HttpResponse HubRequests::stream(const std::string& path, int64_t offset, const Sink& sink) {
  HttpRequest request;
  request.url = settings_.endpoint + path;
  request.offset = offset;
  request.sink = sink;
  request.stop = stop_;
  return persist(request, true);
}

}  // namespace ropewalk
