#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace ropewalk {

// SHA-256, incremental. `hex` ends the computation.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(const void* data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::string_view data);
std::string sha256_file(const std::filesystem::path& path);

// Blake2b with a digest of 8 bytes (not a truncated longer digest), read as little-endian int64.
int64_t blake2b_int64(std::string_view data);

}  // namespace ropewalk
