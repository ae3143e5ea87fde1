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
  int64_t offset = 0;  // of its first byte, from the start of the archive
  int64_t size = 0;
  uint32_t crc32 = 0;  // of its bytes; 0: nobody computed it, as torch may be told
};

// What the list at an archive's end says of a file.
struct ZipListEntry {
  std::string name;
  int64_t local = 0;  // where the file's own header begins, which its bytes follow
  int64_t size = 0;
  uint16_t flags = 0;
  uint32_t crc32 = 0;
};

// Where that list begins, which the last hundred bytes tell; and what it says. Both check what they
// read, and nothing else of the archive. Throw InputError naming it.
int64_t zip_list_offset(const MappedFile& file);
std::vector<ZipListEntry> list_zip(const MappedFile& file);
// A header for a listed file that goes without what aligns its bytes.
std::string zip_header(const ZipListEntry& listed);

// An archive's files, 64-bit sizes included. Everything is checked: entries lie inside
// the archive, do not overlap each other or the list, have one name each, and are stored as they
// are. Throws InputError naming the archive and the entry.
std::vector<ZipEntry> read_zip(const MappedFile& file);

// Whether a file begins like a zip archive.
bool looks_like_zip(const MappedFile& file);

}  // namespace ropewalk
