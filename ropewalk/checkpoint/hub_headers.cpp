#include "ropewalk/checkpoint/hub_headers.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "ropewalk/base/error.h"
#include "ropewalk/base/parallel.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The first bytes of a safetensors file: the header's length and the header.
std::string read_header(Hub& hub, const HubCheckpoint& checkpoint, const HubFile& file) {
  constexpr int64_t kLongest = int64_t{64} << 20;
  std::string length = hub.read(checkpoint.repository, checkpoint.commit, file.name, 0, 8);
  uint64_t size = 0;
  std::memcpy(&size, length.data(), sizeof size);
  if (file.size < 8 || size > static_cast<uint64_t>(std::min(kLongest, file.size - 8))) {
    throw InputError("{}: {} claims a header of {} bytes; expected a safetensors file",
                     checkpoint.name(), file.name, size);
  }
  return length + hub.read(checkpoint.repository, checkpoint.commit, file.name, 8,
                           static_cast<int64_t>(size));
}

}  // namespace

HubHeaders::HubHeaders(Hub& hub, const HubCheckpoint& checkpoint) {
  const std::vector<HubFile> files = missing_weights(hub, checkpoint);
  std::string name = (fs::temp_directory_path() / "ropewalk-headers-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw SystemError("{}: cannot create folder: {}", name, std::strerror(errno));
  }
  folder_ = name;
  undo_.emplace([this] { remove(); });
  try {
    for (const auto& entry : fs::directory_iterator(checkpoint.folder)) {
      if (!entry.is_regular_file()) continue;
      fs::create_symlink(fs::canonical(entry.path()), folder_ / entry.path().filename());
    }
    run_parallel(files.size(), 4, {}, [&](size_t i, const std::stop_token&) {
      const fs::path path = folder_ / files[i].name;
      std::ofstream(path, std::ios::binary) << read_header(hub, checkpoint, files[i]);
      fs::resize_file(path, static_cast<uintmax_t>(files[i].size));  // takes no room
    });
  } catch (const fs::filesystem_error& error) {
    remove();
    throw SystemError("{}: cannot write: {}", folder_.string(), error.code().message());
  } catch (...) {
    remove();
    throw;
  }
}

HubHeaders::~HubHeaders() { remove(); }

void HubHeaders::remove() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace ropewalk
