#include "ropewalk/base/csv.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Records = std::vector<std::vector<std::string>>;

Records read(std::string_view text) {
  CsvReader reader(text, "table.csv");
  Records records;
  std::vector<std::string> fields;
  while (reader.next(fields)) records.push_back(fields);
  return records;
}

TEST(Csv, ReadsPlainFields) {
  EXPECT_EQ(read("a,b\n1,\n,2\n"), (Records{{"a", "b"}, {"1", ""}, {"", "2"}}));
}

TEST(Csv, NeedsNoLastLineEnd) { EXPECT_EQ(read("a,b\n1,2"), (Records{{"a", "b"}, {"1", "2"}})); }

TEST(Csv, ReadsQuotedFields) {
  EXPECT_EQ(read("\"a,b\",\"say \"\"hi\"\"\",\"\"\n"), (Records{{"a,b", "say \"hi\"", ""}}));
  EXPECT_EQ(read("\"two\nlines\",x\n"), (Records{{"two\nlines", "x"}}));
}

TEST(Csv, SkipsMarkCarriageReturnsAndEmptyLines) {
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\r\n\r\n1,2\r\n\n"),
            (Records{{"a", "b"}, {"1", "2"}}));
}

TEST(Csv, EmptyTextHasNoRecords) { EXPECT_TRUE(read("").empty()); }

TEST(Csv, CountsLines) {
  CsvReader reader("a\n\n\"x\ny\"\nb\n", "table.csv");
  std::vector<std::string> fields;
  std::vector<int64_t> lines;
  while (reader.next(fields)) lines.push_back(reader.line());
  EXPECT_EQ(lines, (std::vector<int64_t>{1, 3, 5}));
}

std::string failure(std::string_view text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Csv, RefusesStrayQuotes) {
  EXPECT_EQ(failure("a\n\"open"), "table.csv, line 2: a quoted field has no closing quote");
  EXPECT_NE(failure("a\n\"x\"y\n").find("line 2: expected a comma"), std::string::npos);
  EXPECT_NE(failure("a\nb\"c\n").find("line 2: field 'b\"c' has a quote inside"),
            std::string::npos);
}

}  // namespace
}  // namespace ropewalk
