#include "ropewalk/checkpoint/zip_archive.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr uint32_t kLocal = 0x04034b50;
constexpr uint32_t kCentral = 0x02014b50;
constexpr uint32_t kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50;
constexpr uint32_t kLocator64 = 0x07064b50;
constexpr int64_t kLocalBytes = 30;
constexpr int64_t kCentralBytes = 46;
constexpr int64_t kEndBytes = 22;
constexpr int64_t kEnd64Bytes = 56;
constexpr int64_t kLocator64Bytes = 20;
constexpr uint64_t kMostEntries = 1 << 20;
constexpr uint16_t kEncrypted = 1;
// flag: sizes follow the data, and are in the central directory
constexpr uint16_t kSizesFollow = 8;

class ByteReader {
 public:
  explicit ByteReader(const MappedFile& file) : file_(file) {}

  template <typename T>
  T number(int64_t offset) const {
    require(offset, sizeof(T));
    T value = 0;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  std::string_view text(int64_t offset, int64_t size) const {
    require(offset, size);
    return file_.text().substr(static_cast<size_t>(offset), static_cast<size_t>(size));
  }
  int64_t size() const { return file_.size(); }
  std::string name() const { return file_.path().string(); }

  void require(int64_t offset, int64_t size) const {
    if (offset < 0 || size < 0 || offset > file_.size() || size > file_.size() - offset) {
      throw InputError("{}: is not a whole zip archive; was the download cut off?", name());
    }
  }
  // Checks an offset or size that the archive states.
  int64_t within_file(uint64_t value) const {
    if (value > static_cast<uint64_t>(file_.size())) {
      throw InputError("{}: its list of files refers to byte {}, but the archive has {} bytes",
                       name(), value, file_.size());
    }
    return static_cast<int64_t>(value);
  }

 private:
  const MappedFile& file_;
};

struct CentralDirectory {
  uint64_t entries = 0;
  int64_t offset = 0;
  int64_t end = 0;  // end of the list
};

// Finds the record at the end that says where the list is. A comment may follow it, but torch never
// writes one.
CentralDirectory find_list(const ByteReader& file) {
  const int64_t end = file.size() - kEndBytes;
  if (end < 0 || file.number<uint32_t>(end) != kEnd) {
    throw InputError("{}: does not end like a zip archive; was the download cut off?", file.name());
  }
  if (file.number<uint16_t>(end + 20) != 0) {
    throw InputError("{}: the archive has a comment, which torch.save never writes", file.name());
  }
  CentralDirectory list{file.number<uint16_t>(end + 10), 0, end};
  uint64_t size = file.number<uint32_t>(end + 12);
  uint64_t offset = file.number<uint32_t>(end + 16);
  uint32_t disks = file.number<uint16_t>(end + 4) + file.number<uint16_t>(end + 6);
  const int64_t locator = end - kLocator64Bytes;
  if (locator >= 0 && file.number<uint32_t>(locator) == kLocator64) {
    const int64_t end64 = file.within_file(file.number<uint64_t>(locator + 8));
    file.require(end64, kEnd64Bytes);
    if (file.number<uint32_t>(end64) != kEnd64) {
      throw InputError("{}: the 64-bit end of its list of files is not at the stated offset",
                       file.name());
    }
    disks = file.number<uint32_t>(end64 + 16) | file.number<uint32_t>(end64 + 20);
    list.entries = file.number<uint64_t>(end64 + 32);
    size = file.number<uint64_t>(end64 + 40);
    offset = file.number<uint64_t>(end64 + 48);
    list.end = end64;
  }
  if (disks != 0)
    throw InputError("{}: is a part of a split zip archive, expected a whole one", file.name());
  if (list.entries > kMostEntries) {
    throw InputError("{}: claims {} files, more than the {} allowed", file.name(), list.entries,
                     kMostEntries);
  }
  list.offset = file.within_file(offset);
  if (file.within_file(size) != list.end - list.offset) {
    throw InputError("{}: its list of files is {} bytes long, expected {}", file.name(), size,
                     list.end - list.offset);
  }
  return list;
}

// An entry's extra field holds those of these numbers that do not fit into 32 bits, in this order.
struct Sizes {
  uint64_t plain = 0;
  uint64_t stored = 0;
  uint64_t local = 0;  // where the entry begins
};

void read_extra(const ByteReader& file, int64_t offset, int64_t size, Sizes& sizes) {
  constexpr uint16_t kSizes64 = 1;
  constexpr uint64_t kElsewhere = 0xffffffff;
  const int64_t end = offset + size;
  file.require(offset, size);
  while (end - offset >= 4) {
    const auto kind = file.number<uint16_t>(offset);
    const int64_t length = file.number<uint16_t>(offset + 2);
    offset += 4;
    if (length > end - offset) break;
    if (kind == kSizes64) {
      int64_t at = offset;
      for (uint64_t* value : {&sizes.plain, &sizes.stored, &sizes.local}) {
        if (*value != kElsewhere) continue;
        if (at + 8 > offset + length) return;
        *value = file.number<uint64_t>(at);
        at += 8;
      }
      return;
    }
    offset += length;
  }
}

// Checks that the header before the data agrees with the list.
int64_t data_start(const ByteReader& file, int64_t local, const std::string& name, uint16_t flags) {
  file.require(local, kLocalBytes);
  const int64_t length = file.number<uint16_t>(local + 26);
  const bool same = file.number<uint32_t>(local) == kLocal &&
                    file.number<uint16_t>(local + 8) == 0 &&
                    (file.number<uint16_t>(local + 6) & ~kSizesFollow) == (flags & ~kSizesFollow) &&
                    file.text(local + kLocalBytes, length) == name;
  if (!same) {
    throw InputError(
        "{}: '{}' has one description in the list of files and another before its data",
        file.name(), name);
  }
  return local + kLocalBytes + length + file.number<uint16_t>(local + 28);
}

void check_overlaps(const ByteReader& file, std::vector<ZipEntry> entries, int64_t list) {
  std::sort(entries.begin(), entries.end(),
            [](const ZipEntry& a, const ZipEntry& b) { return a.offset < b.offset; });
  int64_t free = 0;
  for (const ZipEntry& entry : entries) {
    if (entry.offset < free || entry.offset + entry.size > list) {
      throw InputError("{}: '{}' overlaps another part of the archive", file.name(), entry.name);
    }
    free = entry.offset + entry.size;
  }
}

}  // namespace

bool looks_like_zip(const MappedFile& file) {
  return file.size() >= 4 && ByteReader(file).number<uint32_t>(0) == kLocal;
}

int64_t zip_list_offset(const MappedFile& file) { return find_list(ByteReader(file)).offset; }

std::vector<ZipListEntry> list_zip(const MappedFile& mapped) {
  const ByteReader file(mapped);
  const CentralDirectory list = find_list(file);
  std::vector<ZipListEntry> entries;
  std::set<std::string_view> names;
  int64_t at = list.offset;
  for (uint64_t i = 0; i < list.entries; ++i) {
    if (list.end - at < kCentralBytes || file.number<uint32_t>(at) != kCentral) {
      throw InputError("{}: its list of files ends after {} of {}", file.name(), i, list.entries);
    }
    const auto flags = file.number<uint16_t>(at + 8);
    const auto method = file.number<uint16_t>(at + 10);
    const int64_t name_bytes = file.number<uint16_t>(at + 28);
    const int64_t extra_bytes = file.number<uint16_t>(at + 30);
    const int64_t comment_bytes = file.number<uint16_t>(at + 32);
    const std::string_view name = file.text(at + kCentralBytes, name_bytes);
    if (method != 0 || (flags & kEncrypted) != 0) {
      throw InputError("{}: '{}' is compressed or encrypted; torch.save stores files as they are",
                       file.name(), name);
    }
    if (!names.insert(name).second) {
      throw InputError("{}: '{}' is in the archive twice", file.name(), name);
    }
    Sizes sizes{file.number<uint32_t>(at + 24), file.number<uint32_t>(at + 20),
                file.number<uint32_t>(at + 42)};
    read_extra(file, at + kCentralBytes + name_bytes, extra_bytes, sizes);
    if (sizes.plain != sizes.stored) {
      throw InputError("{}: '{}' has {} bytes but is stored in {}", file.name(), name, sizes.plain,
                       sizes.stored);
    }
    entries.push_back({std::string(name), file.within_file(sizes.local),
                       file.within_file(sizes.plain), flags, file.number<uint32_t>(at + 16)});
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  if (at != list.end) {
    throw InputError("{}: its list of files has more than the {} files that it states", file.name(),
                     list.entries);
  }
  return entries;
}

std::string zip_header(const ZipListEntry& listed) {
  std::string header(kLocalBytes, '\0');
  const auto length = static_cast<uint16_t>(listed.name.size());
  std::memcpy(header.data(), &kLocal, sizeof kLocal);
  std::memcpy(header.data() + 6, &listed.flags, sizeof listed.flags);
  std::memcpy(header.data() + 26, &length, sizeof length);
  return header + listed.name;
}

std::vector<ZipEntry> read_zip(const MappedFile& mapped) {
  const ByteReader file(mapped);
  std::vector<ZipEntry> entries;
  for (const ZipListEntry& listed : list_zip(mapped)) {
    const int64_t start = data_start(file, listed.local, listed.name, listed.flags);
    file.require(start, listed.size);
    entries.push_back({listed.name, start, listed.size, listed.crc32});
  }
  check_overlaps(file, entries, zip_list_offset(mapped));
  return entries;
}

}  // namespace ropewalk
