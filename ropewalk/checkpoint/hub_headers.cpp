#include "ropewalk/checkpoint/hub_headers.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/checkpoint/zip_archive.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kLongest = int64_t{64} << 20;  // the most bytes of one request

// A local stand-in for a weight file: some parts are downloaded, the rest are zeros that take no
// space.
class SparseWeightsFile {
 public:
  SparseWeightsFile(Hub& hub, const HubCheckpoint& checkpoint, const HubFile& file, fs::path path)
      : hub_(hub), checkpoint_(checkpoint), file_(file), path_(std::move(path)) {
    if (!std::ofstream(path_)) {
      throw SystemError("{}: cannot create: {}; name a folder with room as TMPDIR", path_.string(),
                        std::strerror(errno));
    }
    fs::resize_file(path_, static_cast<uintmax_t>(file.size));
  }

  // Downloads the header's length and the header.
  void read_safetensors() const {
    const std::string length = read(0, 8);
    uint64_t size = 0;
    std::memcpy(&size, length.data(), sizeof size);
    if (file_.size < 8 || size > static_cast<uint64_t>(std::min(kLongest, file_.size - 8))) {
      fail(fmt::format("claims a header of {} bytes; expected a safetensors file", size));
    }
    write(0, length + read(8, static_cast<int64_t>(size)));
  }

  // Downloads the archive's list of files and the pickle. Storages get a made-up header each, so
  // theirs are not downloaded.
  void read_pytorch() const {
    copy(0, std::min<int64_t>(file_.size, 4));
    if (!looks_like_zip(MappedFile(path_))) return;  // opening the file says what to do
    constexpr int64_t kEnd = 1024;                   // the last bytes, which tell where the list is
    copy(std::max<int64_t>(file_.size - kEnd, 0), file_.size);
    copy(zip_list_offset(MappedFile(path_)), file_.size);
    const MappedFile mapped(path_);
    std::vector<ZipListEntry> entries = list_zip(mapped);
    std::sort(entries.begin(), entries.end(),
              [](const ZipListEntry& a, const ZipListEntry& b) { return a.local < b.local; });
    for (size_t i = 0; i < entries.size(); ++i) {
      const std::string& name = entries[i].name;
      if (name.ends_with("/data.pkl") || name.ends_with("/byteorder")) {
        const bool last = i + 1 == entries.size();
        copy(entries[i].local, last ? zip_list_offset(mapped) : entries[i + 1].local);
      } else {
        write(entries[i].local, zip_header(entries[i]));
      }
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError("{}: {} {}", checkpoint_.name(), file_.name, what);
  }
  std::string read(int64_t offset, int64_t length) const {
    return hub_.read(checkpoint_.repository, checkpoint_.commit, file_.name, offset, length);
  }
  void write(int64_t offset, std::string_view bytes) const {
    std::fstream out(path_, std::ios::binary | std::ios::in | std::ios::out);
    errno = 0;
    out.seekp(offset) << bytes;
    if (out.flush()) return;
    throw SystemError("{}: cannot write: {}; name a folder with room as TMPDIR", path_.string(),
                      std::strerror(errno));
  }
  void copy(int64_t begin, int64_t end) const {
    if (end < begin || end - begin > kLongest) {
      fail(fmt::format("has {} bytes besides its tensors, expected at most {}", end - begin,
                       kLongest));
    }
    write(begin, read(begin, end - begin));
  }

  Hub& hub_;
  const HubCheckpoint& checkpoint_;
  const HubFile& file_;
  fs::path path_;
};

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
      const SparseWeightsFile outline(hub, checkpoint, files[i],
                                      folder_ / fs::path(files[i].name).filename());
      if (files[i].name.ends_with(".safetensors")) {
        outline.read_safetensors();
      } else {
        outline.read_pytorch();
      }
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
