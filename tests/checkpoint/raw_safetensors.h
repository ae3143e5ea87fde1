#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "tests/temporary_folder.h"

namespace ropewalk {

// A safetensors file, built byte by byte, valid or not: the header is padded to eight bytes, and
// `length` is the claimed length of the header where that should be wrong.
inline std::string raw_safetensors(std::string header, const std::string& data,
                                   std::optional<uint64_t> length = {}) {
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t claimed = length.value_or(header.size());
  std::string bytes(sizeof claimed, '\0');
  std::memcpy(bytes.data(), &claimed, sizeof claimed);
  return bytes + header + data;
}

}  // namespace ropewalk
