#include "ropewalk/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ropewalk/base/error.h"
#include "tests/checkpoint/raw_safetensors.h"

namespace ropewalk {
namespace {

// The InputError about a file with these bytes, without its name; "" where it opens.
std::string complaint(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.safetensors", bytes);
  try {
    const SafetensorsFile file(path);
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with(path.string() + ": ")) << text;
    return text.substr(path.string().size() + 2);
  }
  return "";
}

// The error about a header with one tensor 'w', given its entry, before `data` bytes of data.
std::string entry_complaint(const std::string& entry, size_t data = 24) {
  return complaint(raw_safetensors("{\"w\":" + entry + "}", std::string(data, '\0')));
}

// One line for each check of safetensors.cpp.
TEST(Safetensors, ReadsWhatIsThere) {
  const TemporaryFolder folder;
  const std::string header = R"({"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                             R"("a":{"dtype":"F32","shape":[3],"data_offsets":[12,24]},)"
                             R"("none":{"dtype":"F16","shape":[0,5],"data_offsets":[24,24]},)"
                             R"("flags":{"dtype":"BOOL","shape":[],"data_offsets":[24,25]},)"
                             R"("__metadata__":{"format":"pt"}})";
  const SafetensorsFile file(
      folder.write("a.safetensors", raw_safetensors(header, "0123456789abABCDEFGHIJKL!")));
  ASSERT_EQ(file.tensors().size(), 4U);
  const StoredTensor& a = file.tensors().at("a");
  EXPECT_EQ(a.type, StoredType::f32);
  EXPECT_EQ(a.shape, std::vector<int64_t>{3});
  EXPECT_EQ(a.bytes, 12);
  EXPECT_EQ(file.file().text().substr(static_cast<size_t>(a.offset), 12), "ABCDEFGHIJKL");
  EXPECT_EQ(file.tensors().at("b").type, StoredType::bf16);
  EXPECT_EQ(file.tensors().at("none").type, StoredType::f16);
  EXPECT_EQ(file.tensors().at("none").bytes, 0);
  EXPECT_EQ(file.tensors().at("flags").type, StoredType::other);
  EXPECT_EQ(file.tensors().at("flags").type_name, "BOOL");
  EXPECT_EQ(file.metadata().at("format"), "pt");
}

TEST(Safetensors, AnEmptyHeaderIsAFileWithoutTensors) {
  EXPECT_EQ(complaint(raw_safetensors("{}", "")), "");
}

TEST(Safetensors, HeaderLength) {
  EXPECT_EQ(complaint(""),
            "is 0 bytes long, too short for a safetensors file; was the download cut off?");
  EXPECT_EQ(complaint("1234567"),
            "is 7 bytes long, too short for a safetensors file; was the download cut off?");
  EXPECT_EQ(complaint(raw_safetensors("{}", "", 9)),
            "header claims 9 bytes but only 8 follow; was the download cut off?");
  for (const uint64_t length : {uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{7}}) {
    EXPECT_NE(complaint(raw_safetensors("{}", "", length)).find("this is not a safetensors file"),
              std::string::npos);
  }
  EXPECT_NE(complaint(raw_safetensors("{}", "", 0)).find("not valid JSON"), std::string::npos);
}

TEST(Safetensors, HeaderText) {
  EXPECT_NE(complaint(raw_safetensors("{\"a\":", "")).find("header: not valid JSON"),
            std::string::npos);
  EXPECT_EQ(complaint(raw_safetensors("[1]", "")), "header is not a JSON object");
  const std::string bytes = complaint(raw_safetensors("{\"\xff\": {}}", ""));
  EXPECT_NE(bytes.find("header: not valid JSON"), std::string::npos);
  EXPECT_NE(bytes.find("\\xff"), std::string::npos) << bytes;
  EXPECT_EQ(complaint(raw_safetensors(R"({"__metadata__":3})", "")),
            "__metadata__ is not an object");
  EXPECT_EQ(complaint(raw_safetensors(R"({"__metadata__":{"a":3}})", "")),
            "__metadata__ 'a' is not a string");
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "{\"a\":";
  EXPECT_EQ(complaint(raw_safetensors(nested, "")), "header: JSON is nested deeper than 64 levels");
  const std::string w = R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(complaint(raw_safetensors("{" + w + "," + w + "}", "1234")),
            "header: duplicate key 'w'");
}

TEST(Safetensors, EntryOfTheWrongKind) {
  EXPECT_EQ(entry_complaint("3"), "tensor 'w': found number, expected an object");
  EXPECT_EQ(entry_complaint(R"({"shape":[6],"data_offsets":[0,24]})"),
            "tensor 'w': key 'dtype' is missing");
  EXPECT_EQ(entry_complaint(R"({"dtype":"F32","data_offsets":[0,24]})"),
            "tensor 'w': key 'shape' is missing");
  EXPECT_EQ(entry_complaint(R"({"dtype":"F32","shape":[6]})"),
            "tensor 'w': key 'data_offsets' is missing");
  EXPECT_EQ(entry_complaint(R"({"dtype":32,"shape":[6],"data_offsets":[0,24]})"),
            "tensor 'w': dtype is not a string");
  EXPECT_EQ(entry_complaint(R"({"dtype":"F77","shape":[6],"data_offsets":[0,24]})"),
            "tensor 'w': unknown dtype 'F77'; ropewalk reads F32, F16 and BF16");
}

std::string shape_complaint(const std::string& shape) {
  return entry_complaint(R"({"dtype":"F32","data_offsets":[0,24],"shape":)" + shape + "}");
}

TEST(Safetensors, Shape) {
  EXPECT_EQ(shape_complaint("[2,3]"), "");
  EXPECT_EQ(shape_complaint("6"), "tensor 'w': shape is not a list");
  for (const char* bad : {"-6", "6.0", "\"6\"", "null", "[6]", "18446744073709551615", "1e30"}) {
    EXPECT_NE(shape_complaint(fmt::format("[{}]", bad)).find("tensor 'w': shape: found"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(shape_complaint("[2,4]"),
            "tensor 'w': holds 24 bytes, expected 32 for dtype F32 and shape [2, 4]");
  // 2^32 * 2^32 is 0 in 64 bits, and (2^62 + 6) * 4 bytes is 24.
  EXPECT_NE(shape_complaint("[4294967296,4294967296]").find("more elements than 64 bits"),
            std::string::npos);
  EXPECT_NE(shape_complaint("[4611686018427387910]").find("more bits than 64 bits"),
            std::string::npos);
  EXPECT_NE(shape_complaint("[0,4294967296,4294967296]"), "") << "no bytes, but 24 are claimed";
}

std::string offset_complaint(const std::string& offsets) {
  return entry_complaint(R"({"dtype":"F32","shape":[6],"data_offsets":)" + offsets + "}");
}

TEST(Safetensors, Offsets) {
  EXPECT_EQ(offset_complaint("[0,24]"), "");
  for (const char* bad : {"24", "[0]", "[0,24,48]", "{}"}) {
    EXPECT_EQ(offset_complaint(bad), "tensor 'w': data_offsets is not a list of two numbers");
  }
  for (const char* bad : {"[-24,0]", "[0.5,24]", "[\"0\",24]", "[0,9223372036854775808]"}) {
    EXPECT_NE(offset_complaint(bad).find("tensor 'w': data_offsets: found"), std::string::npos)
        << bad;
  }
  for (const char* bad : {"[24,0]", "[4,28]", "[1000,1024]", "[0,9223372036854775807]"}) {
    EXPECT_NE(offset_complaint(bad).find("do not lie within the 24 bytes of data"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(offset_complaint("[0,20]"),
            "tensor 'w': holds 20 bytes, expected 24 for dtype F32 and shape [6]");
}

// Two tensors at these offsets, U8 of the size that fits, before ten bytes of data.
std::string layout_complaint(int a, int a_end, int b, int b_end) {
  const auto entry = [](const char* name, int begin, int end) {
    return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name,
                       end - begin, begin, end);
  };
  return complaint(raw_safetensors("{" + entry("a", a, a_end) + "," + entry("b", b, b_end) + "}",
                                   std::string(10, '\0')));
}

TEST(Safetensors, TensorsLieBackToBack) {
  EXPECT_EQ(layout_complaint(0, 4, 4, 10), "");
  EXPECT_EQ(layout_complaint(4, 10, 0, 4), "");
  EXPECT_EQ(layout_complaint(0, 4, 4, 4), "has 10 bytes of data, expected 4 from its header");
  EXPECT_EQ(layout_complaint(0, 5, 4, 10),
            "tensor 'b' overlaps the one before it: it starts at byte 4, expected 5");
  EXPECT_EQ(layout_complaint(0, 10, 0, 10),
            "tensor 'b' overlaps the one before it: it starts at byte 0, expected 10");
  EXPECT_EQ(layout_complaint(0, 10, 3, 4),
            "tensor 'b' overlaps the one before it: it starts at byte 3, expected 10");
  EXPECT_EQ(layout_complaint(0, 3, 4, 10),
            "tensor 'b' leaves a gap before it: it starts at byte 4, expected 3");
  EXPECT_EQ(layout_complaint(1, 4, 4, 10),
            "tensor 'a' leaves a gap before it: it starts at byte 1, expected 0");
}

TEST(Safetensors, NumbersMayStartAnywhere) {
  EXPECT_EQ(complaint(raw_safetensors(R"({"odd":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                      R"("w":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                      std::string(9, '\0'))),
            "");
}

TEST(Safetensors, TypesSmallerThanAByte) {
  EXPECT_EQ(entry_complaint(R"({"dtype":"F4","shape":[6],"data_offsets":[0,3]})", 3), "");
  EXPECT_NE(entry_complaint(R"({"dtype":"F4","shape":[6],"data_offsets":[0,6]})", 6), "");
}

}  // namespace
}  // namespace ropewalk
