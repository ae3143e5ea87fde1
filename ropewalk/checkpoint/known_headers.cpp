#include "ropewalk/checkpoint/known_headers.h"

#include "ropewalk/base/log.h"

namespace ropewalk {

template <typename T>
std::shared_ptr<const T> KnownHeaders::once(const std::filesystem::path& file,
                                            const struct stat& status,
                                            const std::function<T()>& read) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(file);
    if (found != known_.end() && is_same_content(found->second.status, status)) {
      return std::static_pointer_cast<const T>(found->second.content);
    }
  }
  auto content = std::make_shared<const T>(read());
  log::debug("{}: header read", file.string());
  const std::lock_guard lock(mutex_);
  known_.insert_or_assign(file, CachedHeader{status, content});
  return content;
}

std::shared_ptr<const JsonReader> KnownHeaders::json(const std::filesystem::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return std::make_shared<JsonReader>(file);  // throws
  return once<JsonReader>(file, status, [&] { return JsonReader(file); });
}

std::shared_ptr<const WeightsHeader> KnownHeaders::weights(
    const MappedFile& file, const std::function<WeightsHeader()>& read) {
  return once<WeightsHeader>(file.path(), file.status(), read);
}

}  // namespace ropewalk
