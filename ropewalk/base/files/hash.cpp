#include "ropewalk/base/files/hash.h"

#include <blake2.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/processes/interrupt.h"

namespace ropewalk {

struct Digest::State {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

Digest::Digest(Kind kind) : state_(std::make_unique<State>()) {
  const EVP_MD* algorithm = kind == Kind::sha1 ? EVP_sha1() : EVP_sha256();
  if (!state_->context || EVP_DigestInit_ex(state_->context.get(), algorithm, nullptr) != 1) {
    throw SystemError("OpenSSL cannot start a SHA digest: is memory limited?");
  }
}

Digest::~Digest() = default;

void Digest::update(const void* data, size_t size) {
  if (EVP_DigestUpdate(state_->context.get(), data, size) != 1) {
    throw SystemError("OpenSSL failed inside a SHA digest");
  }
}

std::string Digest::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size) != 1) {
    throw SystemError("OpenSSL failed at the end of a SHA digest");
  }
  std::string text;
  for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::string_view data) {
  Sha256 hash;
  hash.update(data);
  return hash.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  constexpr size_t kPart = size_t{1} << 24;  // takes a few milliseconds
  Sha256 hash;
  for (std::string_view rest = file.text(); !rest.empty();
       rest.remove_prefix(std::min(kPart, rest.size()))) {
    throw_if_interrupted();
    hash.update(rest.substr(0, kPart));
  }
  file.require_unchanged();
  return hash.hex();
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
