#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

// The headers of checkpoints' files: the JSON of a config.json or an index, and the list of tensors
// in a file of weights. Whoever asks first reads a header, and it is kept, so that a study, which
// opens its checkpoints repeatedly, reads each header once. A file that was replaced or written to
// is read again. No file stays mapped. All functions may be called from any thread.
class KnownHeaders {
 public:
  std::shared_ptr<const JsonReader> json(const std::filesystem::path& file);
  std::shared_ptr<const WeightsHeader> weights(const MappedFile& file,
                                               const std::function<WeightsHeader()>& read);

 private:
  struct CachedHeader {
    struct stat status {};
    std::shared_ptr<const void> content;
  };
  template <typename T>
  std::shared_ptr<const T> once(const std::filesystem::path& file, const struct stat& status,
                                const std::function<T()>& read);

  std::mutex mutex_;
  std::map<std::filesystem::path, CachedHeader> known_;
};

}  // namespace ropewalk
