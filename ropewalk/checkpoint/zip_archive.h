#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {

// A file inside a zip archive, stored without compression.
struct ZipEntry {
  std::string name;
  int64_t offset = 0;  // of the first byte, from the start of the archive
  int64_t size = 0;
  uint32_t crc32 = 0;  // of its bytes; 0: not computed (torch has a setting for that)
};

// An entry of the list of files at the archive's end.
struct ZipListEntry {
  std::string name;
  int64_t local = 0;  // offset of the file's own header, which its bytes follow
  int64_t size = 0;
  uint16_t flags = 0;
  uint32_t crc32 = 0;
};

// Finds where that list begins, from the archive's last hundred bytes; list_zip() reads it. Both
// check what they read and ignore the rest of the archive. They throw InputError naming the
// archive.
int64_t zip_list_offset(const MappedFile& file);
std::vector<ZipListEntry> list_zip(const MappedFile& file);
// Makes the header of a listed file, without the padding that aligns its bytes.
std::string zip_header(const ZipListEntry& listed);

// The files of an archive, which may have 64-bit sizes. Everything is checked: entries lie inside
// the archive, do not overlap each other or the list, have different names, and are stored without
// compression. Throws InputError naming the archive and the entry.
std::vector<ZipEntry> read_zip(const MappedFile& file);

// Whether a file begins like a zip archive.
bool looks_like_zip(const MappedFile& file);

}  // namespace ropewalk
