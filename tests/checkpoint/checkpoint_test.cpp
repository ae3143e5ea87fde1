#include "ropewalk/checkpoint/checkpoint.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/checkpoint/raw_safetensors.h"

namespace ropewalk {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

// A shard with one F32 tensor of one number per name.
std::string shard(const std::vector<std::string>& names, const char* type = "F32") {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    header += fmt::format(R"({}"{}":{{"dtype":"{}","shape":[1],"data_offsets":[{},{}]}})",
                          i == 0 ? "" : ",", names[i], type, 4 * i, 4 * i + 4);
  }
  std::string data;
  for (const std::string& name : names) data += (name + "    ").substr(0, 4);
  return raw_safetensors(header + "}", data);
}

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() { write("config.json", "{}"); }

  void write(const std::string& name, std::string_view bytes) { folder_.write(name, bytes); }

  // The error of opening, without the folder's name; "" where it opens.
  std::string complaint() const {
    try {
      const Checkpoint checkpoint(folder_.path());
    } catch (const InputError& error) {
      return without_folder(error.what());
    } catch (const SystemError& error) {
      return without_folder(error.what());
    }
    return "";
  }

  std::string without_folder(std::string text) const {
    const std::string prefix = folder_.path().string();
    EXPECT_TRUE(text.starts_with(prefix)) << text;
    return text.substr(prefix.size());
  }

  TemporaryFolder folder_;
};

TEST_F(CheckpointTest, OneFile) {
  write("model.safetensors", shard({"a", "b"}));
  const Checkpoint checkpoint(folder_.path());
  EXPECT_TRUE(checkpoint.has("a"));
  EXPECT_FALSE(checkpoint.has("c"));
  EXPECT_EQ(std::memcmp(checkpoint.tensor("b").data(), "b   ", 4), 0);
  EXPECT_EQ(checkpoint.shards().size(), 1U);
  EXPECT_EQ(checkpoint.size(),
            static_cast<int64_t>(std::filesystem::file_size(folder_.path() / "model.safetensors")));
}

TEST_F(CheckpointTest, Shards) {
  write("1.safetensors", shard({"a"}));
  write("2.safetensors", shard({"b", "c"}));
  write(kIndex, R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors","c":"2.safetensors"}})");
  // Where there is an index, a file that shares the usual name does not count.
  write("model.safetensors", shard({"a", "z"}));
  const Checkpoint checkpoint(folder_.path());
  EXPECT_EQ(checkpoint.shards().size(), 2U);
  EXPECT_FALSE(checkpoint.has("z"));
  EXPECT_EQ(std::memcmp(checkpoint.tensor("c").data(), "c   ", 4), 0);
}

TEST_F(CheckpointTest, TensorsItDoesNotHold) {
  write("model.safetensors", shard({"a"}, "I32"));
  const Checkpoint checkpoint(folder_.path());
  try {
    checkpoint.tensor("b");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(without_folder(error.what()), ": tensor 'b' is missing");
  }
  try {
    checkpoint.tensor("a");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(without_folder(error.what()),
              "/model.safetensors: tensor 'a' has dtype I32; ropewalk reads F32, F16 and BF16");
  }
}

TEST_F(CheckpointTest, FoldersThatAreNotCheckpoints) {
  EXPECT_TRUE(complaint().starts_with(": holds neither model.safetensors nor pytorch_model.bin"));
  write("pytorch_model.bin", "x");
  EXPECT_TRUE(complaint().starts_with("/pytorch_model.bin: is not a zip archive")) << complaint();
  std::filesystem::remove(folder_.path() / "config.json");
  EXPECT_EQ(complaint(), ": holds no config.json; is this a Hugging Face checkpoint?");
  EXPECT_THROW(Checkpoint(folder_.path() / "absent"), SystemError);
  EXPECT_THROW(Checkpoint(folder_.path() / "pytorch_model.bin"), SystemError);
}

TEST_F(CheckpointTest, IndexOfTheWrongKind) {
  write("1.safetensors", shard({"a"}));
  const std::string index = fmt::format("/{}: ", kIndex);
  write(kIndex, "{");
  EXPECT_TRUE(complaint().starts_with(index + "not valid JSON")) << complaint();
  write(kIndex, "{}");
  EXPECT_EQ(complaint(), index + "key 'weight_map' is missing; expected an object");
  write(kIndex, R"({"weight_map":[]})");
  EXPECT_EQ(complaint(), index + "key 'weight_map': found [], expected an object");
  write(kIndex, R"({"weight_map":{"a":"2.safetensors"}})");
  EXPECT_EQ(complaint(),
            index + "shard 2.safetensors is missing from the folder; download it again");
  write(kIndex, R"({"weight_map":{"b":"1.safetensors"}})");
  EXPECT_EQ(complaint(), index + "tensor 'b' is not in 1.safetensors");
}

TEST_F(CheckpointTest, ShardsOutsideTheFolder) {
  for (const char* name :
       {"3", "\"\"", "\".\"", "\"..\"", "\"../a\"", "\"/a\"", "\"a/b\"", "\"a\\u0000b\""}) {
    write(kIndex, fmt::format(R"({{"weight_map":{{"a":{}}}}})", name));
    EXPECT_NE(complaint().find("expected a file name in the same folder"), std::string::npos)
        << name;
  }
}

TEST_F(CheckpointTest, ShardsThatDoNotBelongToTheIndex) {
  write("1.safetensors", shard({"a"}));
  write("2.safetensors", shard({"b"}));
  write(kIndex, R"({"weight_map":{"a":"2.safetensors","b":"1.safetensors"}})");
  EXPECT_NE(complaint().find("tensor 'a' should be in 2.safetensors but is in 1.safetensors"),
            std::string::npos);
  write("2.safetensors", shard({"b", "a"}));
  write(kIndex, R"({"weight_map":{"a":"1.safetensors","b":"2.safetensors"}})");
  EXPECT_EQ(complaint(), "/2.safetensors: tensor 'a' is also in 1.safetensors");
}

}  // namespace
}  // namespace ropewalk
