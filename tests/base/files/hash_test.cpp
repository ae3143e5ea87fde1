#include "ropewalk/base/files/hash.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

// FIPS 180-2's examples.
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(Sha256, KnownValues) {
  EXPECT_EQ(sha256_hex(""), kEmpty);
  EXPECT_EQ(sha256_hex("abc"), kAbc);
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, InParts) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.hex(), kAbc);
}

TEST(Sha256, HashesFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(sha256_file(folder.write("abc", "abc")), kAbc);
  EXPECT_EQ(sha256_file(folder.write("empty", "")), kEmpty);
  EXPECT_THROW(sha256_file(folder.path() / "absent"), SystemError);
}

// int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little", signed=True)
TEST(Blake2b, EightByteDigestAsInteger) {
  EXPECT_EQ(blake2b_int64(""), -5426141060434712860);
  EXPECT_EQ(blake2b_int64("abc"), 6455300059550759896);
  EXPECT_EQ(blake2b_int64("doc-17"), -4901987963951175370);
  EXPECT_EQ(blake2b_int64("<urn:uuid:0a>"), -3817984911573123087);
  EXPECT_EQ(blake2b_int64("é"), 3394012004367669963);
  EXPECT_EQ(blake2b_int64(std::string(1000, 'x')), 1695065728218771610);
}

TEST(Blake2b, IsNotALongerDigestCutShort) {
  // The first eight bytes of the 64-byte digest of "", little-endian.
  EXPECT_NE(blake2b_int64(""), 241225442164632184);
}

}  // namespace
}  // namespace ropewalk
