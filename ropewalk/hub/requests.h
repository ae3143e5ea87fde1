#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "ropewalk/hub/settings.h"

namespace ropewalk {

// Requests to the Hub: follows redirects, sends the token to the endpoint's own host alone, and
// tries again after 429, 5xx and broken connections, waiting as long as the server asks. For one
// thread at a time.
class HubRequests {
 public:
  HubRequests(const HubSettings& settings, HttpClient& client, std::stop_token stop);

  // The headers of `path` ("/org/name/resolve/…"). A redirect to another host is not followed: it
  // says where the bytes lie, and the headers that matter are here. X-Repo-Commit and X-Linked-*
  // are kept over redirects within the host.
  HttpResponse head(const std::string& path);

  // A small answer, whole. `path` may be a full address of the endpoint (the next page of a list).
  HttpResponse get(const std::string& path);

  // `length` bytes of a file.
  HttpResponse get_part(const std::string& path, int64_t offset, int64_t length);

  // Streams a file from `offset()` on; `sink` is told the status (206: from there on, 200: from the
  // start) with each part. Returns once the body has ended, well or not: the caller knows how long
  // the file is. Of failures it tries again those that came before the first byte.
  using Sink = std::function<void(int64_t status, std::string_view part)>;
  HttpResponse stream(const std::string& path, int64_t offset, const Sink& sink);

 private:
  HttpResponse follow(HttpRequest request, bool leave_host);
  HttpResponse persist(const HttpRequest& request, bool leave_host);

  const HubSettings& settings_;
  HttpUrl endpoint_;
  std::stop_token stop_;
  HttpClient& client_;
};

// Throws the InputError that an answer other than 200 means, `what` naming what was asked for.
[[noreturn]] void fail_request(const HttpResponse& response, const std::string& what);

// Sleeps, but not through a signal or a stop: throws Interrupted or SystemError.
void wait_or_throw(double seconds, const std::stop_token& stop);

// How long to wait before attempt `attempt` (from 1) where the server does not say: 1 s, doubled
// each time, 16 s at most.
double backoff(int attempt);
// Attempts in a row without a byte of progress before giving up.
inline constexpr int kAttempts = 6;

}  // namespace ropewalk
