#include "ropewalk/checkpoint/safetensors_writer.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

TensorToWrite tensor(const char* name, const char* type, std::vector<int64_t> shape,
                     const std::string& bytes) {
  return {name, type, std::move(shape), static_cast<int64_t>(bytes.size()),
          [bytes](const ByteSink& write) {
            write(std::string_view(bytes).substr(0, 3));
            write(std::string_view(bytes).substr(3));
          }};
}

TEST(SafetensorsWriter, WritesFilesThatTheReaderReads) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.safetensors";
  write_safetensors(
      path, {tensor("a", "F32", {1, 1}, "WXYZ"), tensor("b", "F64", {2}, "0123456789abcdef")},
      {{"version", "1"}, {"note", "\"quoted\"\n"}});
  const SafetensorsFile file(path);
  const auto bytes_of = [&](const char* name) {
    const StoredTensor& tensor = file.tensors().at(name);
    return file.file().text().substr(static_cast<size_t>(tensor.offset),
                                     static_cast<size_t>(tensor.bytes));
  };
  EXPECT_EQ(bytes_of("b"), "0123456789abcdef");
  EXPECT_EQ(bytes_of("a"), "WXYZ");
  EXPECT_EQ(file.tensors().at("b").type_name, "F64");
  EXPECT_EQ(file.tensors().at("a").shape, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(file.tensors().at("b").offset % 8, 0) << "after one that is narrower";
  EXPECT_EQ(file.metadata().at("note"), "\"quoted\"\n");
}

TEST(SafetensorsWriter, EqualInputGivesEqualBytes) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> metadata{{"z", "1"}, {"a", "2"}};
  for (const char* name : {"1", "2"}) {
    write_safetensors(folder.path() / name, {tensor("w", "F32", {1}, "1234")}, metadata);
  }
  EXPECT_EQ(read_text_file(folder.path() / "1", 1000), read_text_file(folder.path() / "2", 1000));
}

TEST(SafetensorsWriter, RefusesATensorOfAnotherSize) {
  const TemporaryFolder folder;
  TensorToWrite short_one = tensor("w", "F32", {1}, "1234");
  short_one.bytes = 8;
  EXPECT_THROW(write_safetensors(folder.path() / "a", {short_one}, {}), std::logic_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, WritesAFileWithoutTensors) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "a", {}, {});
  EXPECT_TRUE(SafetensorsFile(folder.path() / "a").tensors().empty());
  EXPECT_THROW(write_safetensors(folder.path() / "absent" / "a", {}, {}), SystemError);
}

}  // namespace
}  // namespace ropewalk
