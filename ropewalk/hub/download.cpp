#include "ropewalk/hub/download.h"

#include <charconv>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/hub/partial_file.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The length of the whole file, as stated by an answer that has its bytes.
std::optional<int64_t> stated_size(const HttpResponse& response) {
  std::string text = response.header(response.status == 200 ? "content-length" : "content-range");
  text.erase(0, text.find('/') + 1);  // bytes 5-9/TOTAL
  int64_t size = 0;
  const char* end = text.data() + text.size();
  const bool known = !text.empty() && std::from_chars(text.data(), end, size).ptr == end;
  return known ? std::optional(size) : std::nullopt;
}

}  // namespace

int64_t missing_bytes(const HubCache& cache, const HubFile& file) {
  std::error_code error;
  const fs::path blob = cache.blob(file.etag);
  if (fs::exists(blob, error)) return 0;
  const auto arrived = static_cast<int64_t>(fs::file_size(incomplete_name(blob), error));
  return error || arrived > file.size ? file.size : file.size - arrived;
}

void download_blob(HubRequests& requests, const HubCache& cache, const HubFile& file,
                   const std::string& path, const std::stop_token& stop,
                   const std::function<void(int64_t)>& arrived) {
  const std::string what = path.substr(1);  // "org/name/resolve/COMMIT/FILE", for messages
  const fs::path blob = cache.blob(file.etag);
  const HubLock lock(cache, file.etag, stop);
  std::error_code ignored;
  if (fs::exists(blob, ignored)) return;  // another process was faster
  PartialFile partial(blob, file.etag, file.size);
  partial.read_back();
  if (partial.size() > 0) {
    log::debug("{}: resuming after {}", what, format_bytes(partial.size()));
  }
  int64_t counted = 0;
  const auto restart = [&] {
    arrived(-counted);
    counted = 0;
    partial.restart();
  };
  int begun_anew = 0;
  const auto take = [&](int64_t status, bool& first, std::string_view part) {
    if (first && status == 200 && partial.size() > 0) {  // the server does not support ranges
      restart();
      ++begun_anew;
    }
    first = false;
    if (partial.size() + static_cast<int64_t>(part.size()) > file.size) {
      partial.restart();
      throw InputError("{}: the server sends more than the {} bytes it announced", what, file.size);
    }
    partial.append(part);
    arrived(static_cast<int64_t>(part.size()));
    counted += static_cast<int64_t>(part.size());
  };

  // Bytes of an earlier download may be wrong, so they get one retry; fresh bytes get one too.
  bool second_try = false;
  const auto discard = [&](const std::string& why) {
    restart();
    if (second_try) throw InputError("{}: {}; refused", what, why);
    log::warning("{}: {}; downloading it again", what, why);
    second_try = true;
  };
  for (int failures = 0;;) {
    if (partial.size() == file.size) {
      const std::string hash = partial.hash();
      if (hash == file.etag) break;
      discard(fmt::format("the downloaded bytes have the hash {}, expected {}", hash, file.etag));
      if (file.size == 0) continue;
    }
    const int64_t before = partial.size();
    bool first = true;
    const HttpResponse response = requests.stream(
        path, before, [&](int64_t status, std::string_view part) { take(status, first, part); });
    if (response.status != 200 && response.status != 206 && response.status != 416) {
      fail_request(response, what);
    }
    if (partial.size() == file.size) continue;
    const std::optional<int64_t> stated = stated_size(response);
    if (response.status == 416 || stated.value_or(file.size) != file.size) {
      discard(fmt::format("the server has {} of the {} bytes it announced",
                          stated ? std::to_string(*stated) : "fewer", file.size));
      continue;
    }
    failures = partial.size() > before ? 0 : failures + 1;
    const std::string why = response.problem.empty() ? "the body ended early" : response.problem;
    if (failures == kAttempts || begun_anew == kAttempts) {
      throw SystemError("{}: broke off after {} of {} bytes, {} times ({}); try again later", what,
                        partial.size(), file.size, kAttempts, why);
    }
    log::info("{}: broke off after {} of {} bytes ({}); resuming", what, partial.size(), file.size,
              why);
    if (failures > 0) wait_or_throw(backoff(failures), stop);
  }
  partial.commit();
}

}  // namespace ropewalk
