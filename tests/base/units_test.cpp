#include "ropewalk/base/units.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(Units, ParsesBytes) {
  EXPECT_EQ(parse_bytes("8GiB", "--memory"), int64_t{8} << 30);
  EXPECT_EQ(parse_bytes("500MB", "--memory"), 500'000'000);
  EXPECT_EQ(parse_bytes("1.5 KiB", "--memory"), 1536);
  EXPECT_EQ(parse_bytes("123", "--memory"), 123);
  EXPECT_EQ(parse_bytes("600kB", "--memory"), 600'000);
  EXPECT_EQ(parse_bytes("8g", "--memory"), int64_t{8} << 30);
  EXPECT_EQ(parse_bytes("2 TiB", "--memory"), int64_t{2} << 40);
  for (const char* bad : {"", "GiB", "-1GiB", "8 GiBs", "nan", "1e30GiB", "0", "0.3"}) {
    EXPECT_THROW(parse_bytes(bad, "--memory"), UsageError) << bad;
  }
}

TEST(Units, Formats) {
  EXPECT_EQ(format_number_of(1, "head"), "1 head");
  EXPECT_EQ(format_number_of(0, "head"), "0 heads");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(int64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(format_count(1234), "1.2k");
  EXPECT_EQ(format_duration(59.6), "1 min 00 s");
  EXPECT_EQ(format_duration(3725), "1 h 02 min");
}

TEST(Units, NumbersHaveATrueMinus) {
  EXPECT_EQ(format_decimals(0.125, 2), "0.12");
  EXPECT_EQ(format_decimals(-0.125, 1), "−0.1");
  EXPECT_EQ(format_decimals(-0.004, 2), "0.00");
}

TEST(Units, AnErrorIsNeverWrittenAsCertainty) {
  EXPECT_EQ(format_error(0.0123, 3), " ± 0.012");
  EXPECT_EQ(format_error(0.0006, 3), " ± 0.001");
  EXPECT_EQ(format_error(0.0004, 3), " ± <0.001");
  EXPECT_EQ(format_error(0.00004, 4), " ± <0.0001");
  EXPECT_EQ(format_error(0, 3), "") << "nothing varied";
  EXPECT_EQ(format_error(std::nan(""), 3), "") << "unknown";
}

}  // namespace
}  // namespace ropewalk
