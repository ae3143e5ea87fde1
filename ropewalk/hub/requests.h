#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "ropewalk/hub/settings.h"

namespace ropewalk {

// Requests to the Hub. They follow redirects, send the token only to the endpoint's own host, and
// retry after 429, 5xx and broken connections, waiting as long as the server asks. For one thread
// at a time.
class HubRequests {
 public:
  HubRequests(const HubSettings& settings, HttpClient& client, std::stop_token stop);

  // The headers of `path` ("/org/name/resolve/…"). A redirect to another host is not followed: it
  // says where the bytes are, and the headers that matter are in it. X-Repo-Commit and X-Linked-*
  // are kept over redirects within the host.
  HttpResponse head(const std::string& path);

  // A small answer, in memory. `path` may be a full address of the endpoint (the next page of a
  // list).
  HttpResponse get(const std::string& path);

  // Returns `length` bytes of a file.
  HttpResponse get_part(const std::string& path, int64_t offset, int64_t length);

  // Streams a file from `offset()` on. `sink` gets the status with each part (206: from the offset
  // on, 200: from the start). Returns once the body has ended, complete or not; the caller knows
  // the file's length. Only failures before the first byte are retried.
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

// Throws the InputError that an answer other than 200 stands for; `what` names the request.
[[noreturn]] void fail_request(const HttpResponse& response, const std::string& what);

// Sleeps; a signal or a stop ends the sleep with Interrupted or SystemError.
void wait_or_throw(double seconds, const std::stop_token& stop);

// Seconds to wait before attempt `attempt` (from 1) where the server does not say: 1 s, doubled
// each time, at most 16 s.
double backoff(int attempt);
// Attempts in a row without progress before giving up.
inline constexpr int kAttempts = 6;

}  // namespace ropewalk
