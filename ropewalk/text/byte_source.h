#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace ropewalk {

// A file's bytes in order, decompressed where it is.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills at most `size` > 0 bytes; 0 only at the end. Throws SystemError when the file cannot be
  // read, InputError when its compressed data is damaged or cut short; both name the file.
  virtual size_t read(char* data, size_t size) = 0;
};

std::unique_ptr<ByteSource> open_plain_source(const std::filesystem::path& path);

// Gzip, of one member or several.
std::unique_ptr<ByteSource> open_gzip_source(const std::filesystem::path& path);

}  // namespace ropewalk
