#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace ropewalk {

// A file's bytes in order, decompressed where the file is compressed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills at most `size` > 0 bytes; returns 0 only at the end. Throws SystemError where the file
  // cannot be read, InputError where its compressed data is damaged or cut short; both name the
  // file.
  virtual size_t read(char* data, size_t size) = 0;
};

enum class Compression { none, gzip, zstd };

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path, Compression compression);
// Opens bytes of another source, such as a remote file; `name` is for messages.
std::unique_ptr<ByteSource> open_source(std::unique_ptr<ByteSource> bytes, const std::string& name,
                                        Compression compression);

// The sources behind open_source. Gzip may have several members, zstd several frames.
std::unique_ptr<ByteSource> open_plain_source(const std::filesystem::path& path);
std::unique_ptr<ByteSource> open_gzip_source(std::unique_ptr<ByteSource> bytes, std::string name);
std::unique_ptr<ByteSource> open_zstd_source(std::unique_ptr<ByteSource> bytes, std::string name);

}  // namespace ropewalk
