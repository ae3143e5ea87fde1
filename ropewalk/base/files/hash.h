#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace ropewalk {

// An incremental hash. hex() ends the computation.
class Digest {
 public:
  enum class Kind { sha1, sha256 };
  explicit Digest(Kind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(const void* data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Sha256 : public Digest {
 public:
  Sha256() : Digest(Kind::sha256) {}
};

std::string sha256_hex(std::string_view data);
std::string sha256_file(const std::filesystem::path& path);

// Blake2b with a digest of 8 bytes (not a truncated longer digest), read as little-endian int64.
int64_t blake2b_int64(std::string_view data);

}  // namespace ropewalk
