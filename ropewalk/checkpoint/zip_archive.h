#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/mapped_file.h"

namespace ropewalk {

// A file inside a zip archive, stored without compression.
struct ZipEntry {
  std::string name;
  int64_t offset = 0;  // of its first byte, from the start of the archive
  int64_t size = 0;
};

// The list of an archive's files, 64-bit sizes included. Everything is checked: entries lie inside
// the archive, do not overlap each other or the list, have one name each, and are stored as they
// are. Throws InputError naming the archive and the entry.
std::vector<ZipEntry> read_zip(const MappedFile& file);

// Whether a file begins like a zip archive.
bool looks_like_zip(const MappedFile& file);

}  // namespace ropewalk
