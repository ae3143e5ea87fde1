#include "ropewalk/study/show/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/packed_numbers.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "ropewalk/base/error.h"
#include "ropewalk/study/show/report_inputs.h"
#include "ropewalk/study/show/report_series.h"
#include "ropewalk/study/show/report_table.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

int value_of(char c) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return static_cast<int>(kLetters.find(c));
}

std::string decode(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 4) {
    unsigned group = 0;
    for (size_t j = 0; j < 4; ++j) {
      group = group << 6 | static_cast<unsigned>(text[i + j] == '=' ? 0 : value_of(text[i + j]));
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255U);
  }
  return bytes;
}

struct UnpackedNumber {
  int32_t digits;
  int decimals;
};

std::vector<UnpackedNumber> unpack(const Json& packed, size_t count) {
  const std::string digits = decode(packed["digits"]), decimals = decode(packed["places"]);
  std::vector<UnpackedNumber> numbers;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    for (size_t j = 0; j < 4; ++j) {
      bits |= static_cast<uint32_t>(static_cast<unsigned char>(digits[4 * i + j])) << (8 * j);
    }
    numbers.push_back({static_cast<int32_t>(bits), static_cast<signed char>(decimals[i])});
  }
  return numbers;
}

TEST(Report, PacksNineSignificantDigits) {
  const auto numbers =
      unpack(pack_numbers({0.123456789, -1, 0, 1.5e-7, 123456789012.0, kMissing, 1e-300, -0.7}), 8);
  EXPECT_EQ(numbers[0].digits, 123456789);
  EXPECT_EQ(numbers[0].decimals, 9);
  EXPECT_EQ(numbers[1].digits, -100000000);
  EXPECT_EQ(numbers[1].decimals, 8);
  EXPECT_EQ(numbers[2].digits, 0);
  EXPECT_EQ(numbers[3].digits, 150000000);
  EXPECT_EQ(numbers[3].decimals, 15);
  EXPECT_EQ(numbers[4].digits, 123456789);
  EXPECT_EQ(numbers[4].decimals, -3);
  EXPECT_EQ(numbers[5].digits, kMissingDigits);
  EXPECT_EQ(numbers[6].digits, 0);
  EXPECT_EQ(numbers[7].digits, -700000000);
  EXPECT_EQ(numbers[7].decimals, 9);
}

TEST(Report, PacksNumbersOfHeadsAsFloats) {
  const auto floats = [](const Json& packed, const char* kind, size_t width) {
    const std::string bytes = decode(packed[kind]);
    std::vector<float> values;
    for (size_t i = 0; i + width <= bytes.size(); i += width) {
      uint32_t bits = 0;
      for (size_t j = 0; j < width; ++j) {
        bits |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + j]))
                << (8 * (j + 4 - width));
      }
      values.push_back(std::bit_cast<float>(bits));
    }
    return values;
  };
  const auto whole =
      floats(pack_floats({0.1, -2.5e-4, kMissing, 1e300}, FloatKind::float32), "float32", 4);
  EXPECT_EQ(whole[0], 0.1F);
  EXPECT_EQ(whole[1], -2.5e-4F);
  EXPECT_TRUE(std::isnan(whole[2]));
  EXPECT_TRUE(std::isnan(whole[3]));  // beyond floats
  const auto most = floats(pack_floats({-20.0123456, kMissing}, FloatKind::float24), "float24", 3);
  EXPECT_NEAR(most[0], -20.0123456, 20.0 / 65536);
  EXPECT_TRUE(std::isnan(most[1]));
  const auto half = floats(pack_floats({0.0123456, kMissing}, FloatKind::bfloat16), "bfloat16", 2);
  EXPECT_NEAR(half[0], 0.0123456, 0.0123456 / 256);
  EXPECT_TRUE(std::isnan(half[1]));
}

TEST(Report, NumbersOfHeadsAreOnThePageInTheirGroups) {
  RunTable table =
      parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.5,0.25\n", "qk.csv");
  const Json without = report_table(table);
  EXPECT_FALSE(without["head_columns"].contains("pc0_offset"));
  parse_heads_table(table, "checkpoint,layer,q_head,pc0_offset,pc0_offset_se\na,0,0,0.75,0.01\n",
                    "heads.csv");
  const Json columns = report_table(table)["head_columns"];
  EXPECT_EQ(columns["pc0_offset"], pack_floats({0.75}, FloatKind::float32));
  EXPECT_EQ(columns["pc0_offset_se"], pack_floats({0.01}, FloatKind::bfloat16));
  const Json list = report_statistics();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [](const Json& one) { return one["key"] == "pc0_offset"; });
  ASSERT_NE(found, list.end());
  EXPECT_EQ((*found)["table"], "heads");
  EXPECT_EQ((*found)["group"], "What PC0 is made of");
}

// Two checkpoints of three heads; the first two share their key head.
RunTable table_with_series() {
  RunTable table = parse_qk_table(
      "checkpoint,layer,q_head,kv_head,rope,pc,r_q,r_k\na,0,0,0,1,0,0.5,0.25\n"
      "a,0,1,0,1,0,0.5,0.25\na,1,0,0,1,0,0.5,0.25\nb,0,1,0,1,0,0.5,0.25\n",
      "qk.csv");
  parse_series_table(table, SeriesTable::bands,
                     "checkpoint,layer,q_head,pair,theta,energy_q,energy_k,energy_k_se\n"
                     "a,0,0,0,1,4,2,0.5\na,0,0,1,0.01,3,1,0.25\n"
                     "a,0,1,0,1,5,2,0.5\na,0,1,1,0.01,6,1,0.25\n"
                     "b,0,1,0,1,7,8,\nb,0,1,1,0.02,9,,\n",
                     "bands.csv");
  parse_series_table(table, SeriesTable::curves,
                     "checkpoint,layer,q_head,curve,x,x_end,x_mean,value,value_se\n"
                     "b,0,1,dist_pred,0,1,0,-1.5,0.125\nb,0,1,dist_pred,4,8,5.5,2,0.25\n",
                     "curves.csv");
  return table;
}

TEST(Report, NumbersByPairAndByDistanceArePackedOnceForSharedKeys) {
  const Json page = report_series(table_with_series());
  EXPECT_EQ(page["grids"], Json({{1, 0.01}, {1, 0.02}, {0, 4}}));
  EXPECT_EQ(page["grid_ends"], Json({nullptr, nullptr, {1, 8}}));
  EXPECT_EQ(page["grid_means"], Json({nullptr, nullptr, {0, 5.5}}));
  const auto packed = [](const std::vector<double>& values, FloatKind kind) {
    return pack_floats(values, kind);
  };
  // Both checkpoints, heads 0.0, 0.1 and 1.0.
  const Json& queries = page["columns"]["energy_q"];
  EXPECT_EQ(queries["cells"], Json({0, 2, -1, 2, 1, 1, -1, 1}));
  EXPECT_EQ(queries["value"], packed({4, 3, 5, 6, 7, 9}, FloatKind::float24));
  const Json& keys = page["columns"]["energy_k"];
  EXPECT_EQ(keys["cells"], Json({0, 1, -2, 1, -1, 2, 1, 1, -1, 1}));
  EXPECT_EQ(keys["value"], packed({2, 1, 8, kMissing}, FloatKind::float24));
  EXPECT_EQ(keys["se"], packed({0.5, 0.25, kMissing, kMissing}, FloatKind::bfloat16));
  EXPECT_EQ(page["columns"]["dist_pred"]["cells"], Json({-1, 4, 2, 1, -1, 1}));
  EXPECT_FALSE(page["columns"].contains("dist_actual"));
  std::string listed;
  for (const Json& one : page["statistics"]) {
    listed +=
        fmt::format("{} by {}; ", one["key"].get<std::string>(), one["axis"].get<std::string>());
  }
  EXPECT_EQ(listed, "energy_q by wavelength; energy_k by wavelength; dist_pred by distance; ");
  EXPECT_EQ(page["left_out"], Json::object());
}

TEST(Report, AFileThatIsTooLargeForThePageIsLeftOut) {
  // Ten numbers of bands.csv with their errors take 66 characters, two of curves.csv 13.
  const Json page = report_series(table_with_series(), 40);
  EXPECT_EQ(page["left_out"], Json({{"bands", 66}}));
  EXPECT_FALSE(page["columns"].contains("energy_q"));
  EXPECT_TRUE(page["columns"].contains("dist_pred"));
  EXPECT_EQ(page["statistics"].size(), 1u);
}

TEST(Report, TableIsACubeWithHoles) {
  const Json table =
      report_table(parse_qk_table("checkpoint,layer,q_head,kv_head,rope,pc,r_q,r_k,flag\n"
                                  "a,0,0,0,1,0,0.5,0.25,\na,0,0,0,1,2,0.1,,rank\n"
                                  "b,3,1,0,0,0,0.75,-0.5,x\n",
                                  "qk.csv"));
  EXPECT_EQ(table["heads"], parse_json(R"({"layer": [0, 3], "q_head": [0, 1], "kv_head": [0, 0],
                                          "rope": [1, 0]})",
                                       "expected"));
  EXPECT_EQ(table["components"], Json({0, 2}));
  EXPECT_EQ(table["checkpoints"][0]["order"], 0);
  EXPECT_EQ(table["checkpoints"][1]["order"], 1);
  const auto r_q = unpack(table["columns"]["r_q"], 8);
  const auto r_k = unpack(table["columns"]["r_k"], 8);
  EXPECT_EQ(r_q[0].digits, 500000000);
  EXPECT_EQ(r_q[1].digits, 100000000);
  EXPECT_EQ(r_q[2].digits, kNoRowDigits);
  EXPECT_EQ(r_q[6].digits, 750000000);
  EXPECT_EQ(r_k[1].digits, kMissingDigits);
  EXPECT_EQ(r_k[6].digits, -500000000);
  EXPECT_FALSE(table["columns"].contains("r_q_se"));
  EXPECT_EQ(table["flags"]["names"], Json({"", "rank", "x"}));
  EXPECT_EQ(table["flags"]["runs"], Json({0, 1, 1, 1, 0, 4, 2, 1, 0, 1}));
}

TEST(Report, HasTheFlagsOfHeadsAndWhatTheyMean) {
  RunTable heads = parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.5,0.5\na,0,0,1,0.5,0.5\na,1,0,0,0.5,0.5\n"
      "b,0,0,0,0.5,0.5\nb,1,0,0,0.5,0.5\n",
      "qk.csv");
  EXPECT_FALSE(report_table(heads).contains("head_flags"));
  parse_heads_table(heads,
                    "checkpoint,layer,q_head,flag\na,0,0,\na,1,0,near_tie\n"
                    "b,0,0,axis_changed;near_tie\nb,1,0,near_tie\n",
                    "heads.csv");
  const Json flags = report_table(heads)["head_flags"];
  EXPECT_EQ(flags["names"], Json({"", "near_tie", "axis_changed;near_tie"}));
  EXPECT_EQ(flags["runs"], Json({0, 1, 1, 1, 2, 1, 1, 1}));
  const Json meanings = report_flags();
  for (const char* name : {"axis_changed", "near_tie", "near_tie_b", "sign_uncertain", "rank"}) {
    EXPECT_GT(meanings.at(name).get<std::string>().size(), 30u) << name;
  }
}

TEST(Report, SaysWhichSignsHangOnTheAxisAndWhatIsPerToken) {
  const Json list = report_statistics();
  const auto find = [&](const char* key) {
    return *std::find_if(list.begin(), list.end(),
                         [&](const Json& one) { return one["key"] == key; });
  };
  EXPECT_EQ(find("r_k")["on_pc0"], true);
  EXPECT_EQ(find("r_k")["carried"], "r_k_run");
  EXPECT_EQ(find("r_k_run")["on_pc0"], true);
  EXPECT_TRUE(find("r_k_run")["carried"].is_null());
  EXPECT_EQ(find("r2cv_q")["on_pc0"], false);
  EXPECT_EQ(find("alpha_k")["per_token"], true);
  EXPECT_EQ(find("bias_context")["per_token"], false);
}

TEST(Report, SaysWhatTheLimitsOfAStatisticAre) {
  const Statistic open{.key = "open", .scale = ChangeScale::size, .low = 0};
  const AddedStatistic added(open);
  const Json list = report_statistics();
  EXPECT_EQ(list.back()["key"], "open");
  EXPECT_EQ(list.back()["low"], 0);
  EXPECT_EQ(list.back()["scale"], "size");
  EXPECT_EQ(list.back()["floor"], 0.1);
  EXPECT_TRUE(list.back()["high"].is_null());
}

TEST(Report, RefusesATableThatIsMostlyHoles) {
  std::string text = "checkpoint,layer,q_head,pc,r_q,r_k\n";
  for (int i = 0; i < 5000; ++i) text += fmt::format("a,{},0,{},0.5,0.5\n", i, i);
  EXPECT_THROW(report_table(parse_qk_table(text, "qk.csv")), InputError);
}

// The error about a file, without its name.
std::string complaint(void (*check)(const Json&, const std::string&), const std::string& text) {
  try {
    check(parse_json(text, "f"), "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Report, NamesTheKeyOfASummaryThatIsNone) {
  const auto said = [](const std::string& text) { return complaint(check_summary, text); };
  EXPECT_EQ(said(R"({"checkpoints": []})"), "");
  EXPECT_EQ(said("{}"), "f: key 'checkpoints' is missing; expected a list");
  EXPECT_EQ(said("[]"), "f: is not a JSON object");
  EXPECT_EQ(said(R"({"checkpoints": {}})"), "f: key 'checkpoints': found {}, expected a list");
  EXPECT_EQ(said(R"({"checkpoints": [{"label": 3}]})"),
            "f: key 'checkpoints[0].label': found 3, expected a string");
  const auto with = [&](const std::string& rest) {
    return said("{\"checkpoints\": [], " + rest + "}");
  };
  EXPECT_EQ(with(R"("mean_r_q": {"a": 0.5})"),
            "f: key 'mean_r_q.a': found 0.5, expected an object");
  EXPECT_EQ(with(R"("mean_r_q": {"a": {"value": "x"}})"),
            "f: key 'mean_r_q.a.value': found \"x\", expected a number");
  EXPECT_EQ(with(R"("taxonomy": {"a": []})"), "f: key 'taxonomy.a': found [], expected an object");
  EXPECT_EQ(with(R"("depth_r_q": {"a": [null, 1]})"),
            "f: key 'depth_r_q.a[1]': found 1, expected an object");
  EXPECT_EQ(with(R"("thresholds": {"high": 0.7})"),
            "f: key 'thresholds.low' is missing; expected a number");
  EXPECT_EQ(with(R"("top_heads": [{"layer": 0}])"),
            "f: key 'top_heads[0].q_head' is missing; expected a number");
  EXPECT_EQ(with(R"("changed": {"min_change": 0.02})"),
            "f: key 'changed.max_q' is missing; expected a number");
  EXPECT_EQ(with(R"("differences": [{"from": "a", "to": null}])"),
            "f: key 'differences[0].to' is missing; expected a string");
  EXPECT_EQ(with(R"("differences": [{"from": "a", "to": "b", "heads_r_q": [{"layer": 0}]}])"),
            "f: key 'differences[0].heads_r_q[0].q_head' is missing; expected a number");
}

TEST(Report, NamesTheKeyOfAManifestThatIsNone) {
  const std::string good =
      R"({"format": 1, "name": "n", "ropewalk": "1", "experiment": {"text": ""}, "corpus": {},
          "settings": {"axis": "steps", "portraits": ["a"], "figures": {"statistics": ["r_q"], "portraits": [["r_q", "r_k"]]}},
          "checkpoints": [{"label": "a"}]})";
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return complaint(check_manifest, text.replace(text.find(from), from.size(), to));
  };
  EXPECT_EQ(complaint(check_manifest, good), "");
  EXPECT_EQ(complaint(check_manifest, "{}"), "f: key 'format' is missing; expected a number");
  EXPECT_EQ(changed(R"("format": 1)", R"("format": 2)"), "f: key 'format': found 2, expected 1");
  EXPECT_EQ(changed(R"(["a"])", "[7]"),
            "f: key 'settings.portraits': found [7], expected a list of strings");
  EXPECT_EQ(changed(R"("steps")", "7"), "f: key 'settings.axis': found 7, expected a string");
  EXPECT_EQ(
      changed(R"([["r_q", "r_k"]])", R"([["r_q"]])"),
      R"(f: key 'settings.figures.portraits': found [["r_q"]], expected a list of pairs of strings)");
  EXPECT_EQ(changed(R"(["r_q"])", "7"),
            "f: key 'settings.figures.statistics': found 7, expected a list of strings");
  EXPECT_EQ(changed(R"([{"label": "a"}])", "{}"),
            "f: key 'checkpoints': found {}, expected a list");
  EXPECT_EQ(changed(R"({"text": ""})", "null"),
            "f: key 'experiment' is missing; expected an object");
}

TEST(Report, JsonCannotLeaveItsScript) {
  EXPECT_EQ(script_text("\"</script><!--\""), "\"\\u003c/script>\\u003c!--\"");
  EXPECT_EQ(script_text("\"a\u2028b\u2029c é\""), "\"a\\u2028b\\u2029c é\"");
}

}  // namespace
}  // namespace ropewalk
