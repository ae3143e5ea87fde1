#include "ropewalk/base/files/json_reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

const JsonReader& sample() {
  static const JsonReader config(
      parse_json(R"({"size": 16, "float_size": 4096.0, "number": -0.5, "text": "silu", "yes": true,
                     "nothing": null, "list": [1, 0, -2], "words": ["a", "b"], "mixed": [1, "b"],
                     "zero": 0, "negative": -1, "half": 1.5, "huge": 1e30, "empty": [],
                     "inner": {"size": "two", "deeper": {"x": 0}}})",
                 "config.json"),
      "config.json");
  return config;
}

std::string complaint(const std::function<void(const JsonReader&)>& get) {
  try {
    get(sample());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(JsonReader, ReadsEachKind) {
  const JsonReader& c = sample();
  EXPECT_EQ(c.size("size"), 16);
  EXPECT_EQ(c.size("float_size"), 4096);
  EXPECT_EQ(c.number("number"), -0.5);
  EXPECT_EQ(c.number("size"), 16.0);
  EXPECT_EQ(c.positive("size"), 16.0);
  EXPECT_EQ(c.text("text"), "silu");
  EXPECT_TRUE(c.flag("yes", false));
  EXPECT_EQ(c.integers("list"), (std::vector<int64_t>{1, 0, -2}));
  EXPECT_EQ(c.texts("words"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(c.texts("empty").empty());
  EXPECT_EQ(c.object("inner").text("size"), "two");
}

TEST(JsonReader, NullCountsAsMissing) {
  const JsonReader& c = sample();
  for (const char* key : {"nothing", "absent"}) {
    EXPECT_FALSE(c.has(key));
    EXPECT_EQ(c.size(key, 7), 7);
    EXPECT_EQ(c.optional_size(key), std::nullopt);
    EXPECT_EQ(c.number(key, 0.5), 0.5);
    EXPECT_EQ(c.optional_number(key), std::nullopt);
    EXPECT_TRUE(c.flag(key, true));
    EXPECT_EQ(c.text(key, "x"), "x");
    EXPECT_THROW(c.size(key), InputError);
    EXPECT_THROW(c.number(key), InputError);
    EXPECT_THROW(c.positive(key), InputError);
    EXPECT_THROW(c.text(key), InputError);
    EXPECT_THROW(c.integers(key), InputError);
    EXPECT_THROW(c.texts(key), InputError);
    EXPECT_THROW(c.object(key), InputError);
  }
}

TEST(JsonReader, SizesAreWholeAndPositive) {
  for (const char* key : {"zero", "negative", "half", "huge", "text", "yes", "list", "inner"}) {
    EXPECT_THROW(sample().size(key), InputError) << key;
    EXPECT_THROW(sample().size(key, 1), InputError) << key;
    EXPECT_THROW(sample().optional_size(key), InputError) << key;
  }
}

TEST(JsonReader, OtherKindsAreRefused) {
  for (const char* key : {"text", "yes", "list", "inner"}) {
    EXPECT_THROW(sample().number(key), InputError) << key;
  }
  for (const char* key : {"zero", "negative", "number"}) {
    EXPECT_THROW(sample().positive(key), InputError) << key;
  }
  for (const char* key : {"size", "text", "zero"}) {
    EXPECT_THROW(sample().flag(key, false), InputError) << key;
  }
  EXPECT_THROW(sample().text("size"), InputError);
  for (const char* key : {"words", "mixed", "size", "inner", "text"}) {
    EXPECT_THROW(sample().integers(key), InputError) << key;
  }
  for (const char* key : {"list", "mixed", "size", "inner", "text"}) {
    EXPECT_THROW(sample().texts(key), InputError) << key;
  }
  for (const char* key : {"size", "list", "text"}) {
    EXPECT_THROW(sample().object(key), InputError) << key;
  }
}

TEST(JsonReader, MessagesNameFileKeyAndBothValues) {
  EXPECT_EQ(complaint([](const JsonReader& c) { c.size("absent"); }),
            "config.json: key 'absent' is missing; expected a whole number of at least 1");
  EXPECT_EQ(complaint([](const JsonReader& c) { c.size("half"); }),
            "config.json: key 'half': found 1.5, expected a whole number of at least 1");
  EXPECT_EQ(complaint([](const JsonReader& c) { c.positive("zero"); }),
            "config.json: key 'zero': found 0, expected a number above 0");
  EXPECT_EQ(complaint([](const JsonReader& c) { c.object("inner").number("size"); }),
            "config.json: key 'inner.size': found \"two\", expected a number");
  EXPECT_EQ(complaint([](const JsonReader& c) { c.object("inner").object("deeper").size("x"); }),
            "config.json: key 'inner.deeper.x': found 0, expected a whole number of at least 1");
}

TEST(JsonReader, IsAnObject) {
  EXPECT_THROW(JsonReader(Json::array(), "a"), InputError);
  EXPECT_THROW(JsonReader(std::filesystem::path("/nowhere/config.json")), SystemError);
}

}  // namespace
}  // namespace ropewalk
