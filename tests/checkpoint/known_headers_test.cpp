#include "ropewalk/checkpoint/known_headers.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/checkpoint.h"
#include "tests/checkpoint/raw_safetensors.h"

namespace ropewalk {
namespace {

// One tensor of one number.
std::string weights(const std::string& name) {
  return raw_safetensors(
      fmt::format(R"({{"{}":{{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}}})", name), "1234");
}

class KnownHeadersTest : public testing::Test {
 protected:
  KnownHeadersTest() {
    folder_.write("config.json", "{}");
    folder_.write("model.safetensors", weights("a"));
  }

  // Replaces a file by another one of the same name and size, by renaming a temporary file.
  void replace(const std::string& name, const std::string& bytes) {
    folder_.write("other", bytes);
    std::filesystem::rename(folder_.path() / "other", folder_.path() / name);
  }

  Checkpoint open() const { return Checkpoint(folder_.path(), known_); }

  TemporaryFolder folder_;
  std::shared_ptr<KnownHeaders> known_ = std::make_shared<KnownHeaders>();
};

TEST_F(KnownHeadersTest, EachFileIsReadOnce) {
  const Checkpoint first = open(), second = open();
  EXPECT_EQ(&first.config(), &second.config());
  EXPECT_EQ(&first.shards()[0]->tensors(), &second.shards()[0]->tensors());
  EXPECT_EQ(std::memcmp(second.tensor("a").data(), "1234", 4), 0);
}

TEST_F(KnownHeadersTest, AFileThatWasReplacedIsReadAgain) {
  const Checkpoint before = open();
  replace("model.safetensors", weights("b"));
  EXPECT_TRUE(open().has("b"));
  EXPECT_FALSE(open().has("a"));
  EXPECT_EQ(&open().config(), &before.config());
  replace("config.json", "[]");
  EXPECT_THROW(open(), InputError);
}

TEST_F(KnownHeadersTest, WhatIsNoHeaderIsNotKept) {
  folder_.write("model.safetensors", "x");
  EXPECT_THROW(open(), InputError);
  folder_.write("model.safetensors", weights("a"));
  EXPECT_TRUE(open().has("a"));
}

}  // namespace
}  // namespace ropewalk
