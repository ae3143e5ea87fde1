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

// The download of a blob: bytes that an earlier one left, then the rest, in as many requests as it
// takes.
class BlobDownload {
 public:
  BlobDownload(HubRequests& requests, const HubFile& file, const fs::path& blob,
               const std::string& path, const std::stop_token& stop,
               const std::function<void(int64_t)>& arrived)
      : requests_(requests),
        file_(file),
        path_(path),
        what_(path.substr(1)),
        stop_(stop),
        arrived_(arrived),
        partial_(blob, file.etag, file.size) {}

  void run() {
    partial_.read_back();
    if (partial_.size() > 0) {
      log::debug("{}: resuming after {}", what_, format_bytes(partial_.size()));
    }
    while (!is_complete()) {
      const int64_t before = partial_.size();
      const HttpResponse response = request_rest();
      if (partial_.size() < file_.size) prepare_next(response, before);
    }
    partial_.commit();
  }

 private:
  // Whether all bytes are there; where they are the wrong ones, they are dropped.
  bool is_complete() {
    while (partial_.size() == file_.size) {
      const std::string hash = partial_.hash();
      if (hash == file_.etag) return true;
      discard(fmt::format("the downloaded bytes have the hash {}, expected {}", hash, file_.etag));
    }
    return false;
  }

  HttpResponse request_rest() {
    bool first = true;
    HttpResponse response =
        requests_.stream(path_, partial_.size(), [&](int64_t status, std::string_view part) {
          if (first) begin_body(status);
          first = false;
          take(part);
        });
    if (response.status != 200 && response.status != 206 && response.status != 416) {
      fail_request(response, what_);
    }
    return response;
  }

  void begin_body(int64_t status) {
    if (status != 200 || partial_.size() == 0) return;
    restart();  // the server does not support ranges
    ++begun_anew_;
  }

  void take(std::string_view part) {
    const auto size = static_cast<int64_t>(part.size());
    if (partial_.size() + size > file_.size) {
      partial_.restart();
      throw InputError("{}: the server sends more than the {} bytes it announced", what_,
                       file_.size);
    }
    partial_.append(part);
    arrived_(size);
    counted_ += size;
  }

  // After a request that left bytes to come: says why, and waits where nothing came.
  void prepare_next(const HttpResponse& response, int64_t before) {
    const std::optional<int64_t> stated = stated_size(response);
    if (response.status == 416 || stated.value_or(file_.size) != file_.size) {
      discard(fmt::format("the server has {} of the {} bytes it announced",
                          stated ? std::to_string(*stated) : "fewer", file_.size));
      return;
    }
    failures_ = partial_.size() > before ? 0 : failures_ + 1;
    const std::string why = response.problem.empty() ? "the body ended early" : response.problem;
    if (failures_ == kAttempts || begun_anew_ == kAttempts) {
      throw SystemError("{}: broke off after {} of {} bytes, {} times ({}); try again later", what_,
                        partial_.size(), file_.size, kAttempts, why);
    }
    log::info("{}: broke off after {} of {} bytes ({}); resuming", what_, partial_.size(),
              file_.size, why);
    if (failures_ > 0) wait_or_throw(backoff(failures_), stop_);
  }

  // Bytes of an earlier download may be wrong, so they get one retry; fresh bytes get one too.
  void discard(const std::string& why) {
    restart();
    if (second_try_) throw InputError("{}: {}; refused", what_, why);
    log::warning("{}: {}; downloading it again", what_, why);
    second_try_ = true;
  }

  void restart() {
    arrived_(-counted_);
    counted_ = 0;
    partial_.restart();
  }

  HubRequests& requests_;
  const HubFile& file_;
  const std::string& path_;
  const std::string what_;  // "org/name/resolve/COMMIT/FILE", for messages
  const std::stop_token& stop_;
  const std::function<void(int64_t)>& arrived_;
  PartialFile partial_;
  int64_t counted_ = 0;  // bytes that `arrived` heard of
  int failures_ = 0;     // requests in a row that brought nothing
  int begun_anew_ = 0;   // bodies that began with the first byte though others were there
  bool second_try_ = false;
};

}  // namespace

int64_t missing_bytes(const HubCache& cache, const HubFile& file) {
  std::error_code error;
  const fs::path blob = cache.blob(file.etag);
  if (fs::exists(blob, error)) return 0;
  const auto arrived = static_cast<int64_t>(fs::file_size(partial_file_path(blob), error));
  return error || arrived > file.size ? file.size : file.size - arrived;
}

void download_blob(HubRequests& requests, const HubCache& cache, const HubFile& file,
                   const std::string& path, const std::stop_token& stop,
                   const std::function<void(int64_t)>& arrived) {
  const fs::path blob = cache.blob(file.etag);
  const HubLock lock(cache, file.etag, stop);
  std::error_code ignored;
  if (fs::exists(blob, ignored)) return;  // another process was faster
  BlobDownload(requests, file, blob, path, stop, arrived).run();
}

}  // namespace ropewalk
