#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#include "tests/temporary_folder.h"

namespace ropewalk {

// A safetensors file, valid or not, written byte by byte: the header is padded to eight bytes, and
// `length` is the claimed length where that is wrong.
inline std::string raw_safetensors(std::string header, const std::string& data,
                                   std::optional<uint64_t> length = {}) {
  header.append((8 - header.size() % 8) % 8, ' ');
  const uint64_t claimed = length.value_or(header.size());
  std::string bytes(sizeof claimed, '\0');
  std::memcpy(bytes.data(), &claimed, sizeof claimed);
  return bytes + header + data;
}

}  // namespace ropewalk
