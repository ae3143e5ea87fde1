#include "ropewalk/base/hash.h"

#include <blake2.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/mapped_file.h"

namespace ropewalk {

struct Sha256::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (!state_->context || EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) != 1) {
    throw SystemError("OpenSSL cannot start a SHA-256 digest");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, size_t size) {
  if (EVP_DigestUpdate(state_->context.get(), data, size) != 1) {
    throw SystemError("OpenSSL failed inside a SHA-256 digest");
  }
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) != 1) {
    throw SystemError("OpenSSL failed at the end of a SHA-256 digest");
  }
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return hash.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return sha256_hex(file.text());
}

int64_t blake2b_int64(std::string_view data) {
  std::array<uint8_t, 8> digest{};
  if (blake2b(digest.data(), data.data(), nullptr, digest.size(), data.size(), 0) != 0) {
    throw SystemError("Blake2b failed on {} bytes", data.size());
  }
  int64_t value = 0;
  for (size_t i = 0; i < digest.size(); ++i) {
    value |= static_cast<int64_t>(static_cast<uint64_t>(digest[i]) << (8 * i));
  }
  return value;
}

}  // namespace ropewalk
