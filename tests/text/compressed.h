#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

namespace ropewalk {

inline std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(bytes.size() + 100, '\0');
  std::string in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// A zstd frame of one block that is stored as it is. `window` is log2 of the memory it asks for.
inline std::string zstd_frame(const std::string& bytes, int window = 17) {
  const auto header = static_cast<uint32_t>(bytes.size() << 3 | 1);
  std::string frame("\x28\xB5\x2F\xFD\0", 5);
  frame += static_cast<char>((window - 10) << 3);
  for (const int shift : {0, 8, 16}) frame += static_cast<char>(header >> shift & 0xFF);
  return frame + bytes;
}

}  // namespace ropewalk
