#include "ropewalk/base/files/json.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::string message(std::string_view text) {
  try {
    parse_json(text, "file.json", 4);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Json, RefusesAnythingButStrictJson) {
  EXPECT_EQ(message(R"({"a": {"b": 1}, "c": {"b": 2}})"), "");
  EXPECT_EQ(message(R"({"a": 1, "a": 2})"), "file.json: duplicate key 'a'");
  EXPECT_EQ(message("[[[[[1]]]]]"), "file.json: JSON is nested deeper than 4 levels");
  EXPECT_NE(message("{} x").find("file.json: not valid JSON"), std::string::npos);
  EXPECT_NE(message("{\"a\": \"\xff\"}").find("file.json: not valid JSON"), std::string::npos);
  EXPECT_NE(message("").find("file.json: not valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
