// bands.csv and curves.csv are written and read again; summary.json adds their errors.
#include "ropewalk/analysis/table/series_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/run/series_summary.h"
#include "ropewalk/analysis/table/series_reader.h"
#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/rope_head.h"

namespace ropewalk {
namespace {

// Two RoPE heads and one NoPE head, over five documents.
CheckpointTable checkpoint(const std::string& label) {
  CheckpointTable made;
  made.model = "m";
  made.label = label;
  for (int64_t layer = 0; layer < 3; ++layer) {
    add_head(made, {layer, 1, 0, layer < 2}, made_rope_head(false, layer < 2).cases(),
             {96, 60, 6, 82, 96});
  }
  finish_series(made);
  return made;
}

std::vector<CheckpointTable> checkpoints() {
  at::manual_seed(1);
  return {checkpoint("a"), checkpoint("b, c")};
}

RunTable written() { return rounded_to_file(checkpoints(), "qk.csv"); }

RunTable without_series(RunTable table) {
  for (CheckpointTable& one : table.checkpoints) {
    one.series.clear();
    one.grids.clear();
    one.series_flag.clear();
  }
  return table;
}

size_t lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

TEST(SeriesTable, IsReadAsItWasWritten) {
  const std::vector<CheckpointTable> exact = checkpoints();
  RunTable table = rounded_to_file(exact, "qk.csv");
  RunTable read = without_series(table);
  for (const SeriesTable kind : {SeriesTable::bands, SeriesTable::curves}) {
    const std::string text = format_series_table(table.checkpoints, kind);
    const size_t curve = series_points(table.checkpoints[0], series_index("dist_pred"), 0).x.size();
    EXPECT_EQ(lines(text), 1 + 2 * 3 * (kind == SeriesTable::bands ? 3 : 2 * curve));
    parse_series_table(read, kind, text, "file");
  }
  for (size_t c = 0; c < 2; ++c) {
    CheckpointTable& again = read.checkpoints[c];
    CheckpointTable& before = table.checkpoints[c];
    Json summary{{"bands", {{before.label, summarize_bands(exact[c])}}},
                 {"curves", {{before.label, summarize_curves(exact[c], SeriesMean::kAll)}}},
                 {"rope", {{"curves", {{before.label, summarize_curves(exact[c], 1)}}}}}};
    for (CheckpointTable* one : {&again, &before}) {
      for (size_t index = 0; index < series().size(); ++index) {
        EXPECT_TRUE(fill_series_errors(one->series[index].means, index, *one, summary));
      }
    }
    ASSERT_EQ(again.series.size(), series().size());
    for (size_t index = 0; index < series().size(); ++index) {
      const HeadSeries &one = again.series[index], &other = before.series[index];
      EXPECT_TRUE(same(one.value, other.value)) << series()[index]->key;
      EXPECT_TRUE(same(one.se, other.se)) << series()[index]->key;
      EXPECT_EQ(one.begin, other.begin);
      ASSERT_EQ(one.means.size(), other.means.size());
      for (size_t m = 0; m < one.means.size(); ++m) {
        EXPECT_EQ(one.means[m].rope, other.means[m].rope);
        EXPECT_EQ(one.means[m].heads, other.means[m].heads);
        EXPECT_EQ(again.grids[one.means[m].grid], before.grids[other.means[m].grid]);
        // Equal to the last digit, so that figures are equal too.
        EXPECT_TRUE(same(one.means[m].value, other.means[m].value)) << series()[index]->key;
        EXPECT_TRUE(same(one.means[m].se, other.means[m].se)) << series()[index]->key;
        // This summary does not have the means over NoPE heads.
        EXPECT_EQ(std::isnan(one.means[m].se.front()), other.means[m].rope == 0);
      }
    }
  }
}

TEST(SeriesTable, RowsSayWhatIsMissing) {
  at::manual_seed(2);
  RopeHead made = made_rope_head(false, true);
  // Far tokens are in one document alone, and none reaches the largest distance.
  made.layer.context = 80;
  for (size_t i = 1; i < 5; ++i) {
    made.q_before[i] = made.q_before[i].slice(0, 0, 30);
    made.k_before[i] = made.k_before[i].slice(0, 0, 30);
  }
  made.layer = made.with_distances();
  CheckpointTable one;
  add_head(one, {0, 0, 0, true}, made.cases(), {96, 60, 6, 60, 60});
  const std::string text = format_series_table({one}, SeriesTable::curves);
  EXPECT_NE(text.find("dist_actual,48,80,63.5,,,no_pairs;few_blocks\n"), std::string::npos) << text;
  const size_t row = text.find("dist_actual,32,");
  ASSERT_NE(row, std::string::npos);
  const std::string line = text.substr(row, text.find('\n', row) - row);
  EXPECT_TRUE(line.ends_with(",,no_se;few_blocks")) << line;
  one.series_flag[0] = "no_pre_rope";
  one.series[series_index("mrl_q")].value[0] = std::nan("");
  EXPECT_NE(format_series_table({one}, SeriesTable::bands).find(",no_pre_rope\n"),
            std::string::npos);
  one.series_flag[0] = "";
  EXPECT_NE(format_series_table({one}, SeriesTable::bands).find(",no_variance\n"),
            std::string::npos);
}

// Tables of earlier versions have points without windows.
TEST(SeriesTable, PointsWithoutWindowsAreDrawnWhereTheyAre) {
  RunTable read = without_series(written());
  parse_series_table(read, SeriesTable::curves,
                     "checkpoint,layer,q_head,curve,x,value\n"
                     "a,0,1,dist_pred,4,1\na,0,1,dist_pred,6,2\n",
                     "file");
  const SeriesGrid& points = series_points(read.checkpoints[0], series_index("dist_pred"), 0);
  EXPECT_EQ(points.drawn(), (std::vector<double>{4, 6}));
  EXPECT_TRUE(points.end.empty());
}

TEST(SeriesTable, HeadsWithoutNumbersHaveNoRows) {
  RunTable table = without_series(written());
  for (const SeriesTable kind : {SeriesTable::bands, SeriesTable::curves}) {
    EXPECT_EQ(lines(format_series_table(table.checkpoints, kind)), 1);
    parse_series_table(table, kind, format_series_table(table.checkpoints, kind), "file");
    EXPECT_EQ(lines(format_series_table(table.checkpoints, kind)), 1);
  }
  EXPECT_TRUE(summarize_bands(table.checkpoints[0]).is_null());
  EXPECT_TRUE(summarize_curves(table.checkpoints[0], 1).is_null());
}

TEST(SeriesTable, RefusesWhatIsNotOne) {
  const RunTable table = without_series(written());
  const std::string bands = "checkpoint,layer,q_head,pair,theta,energy_q\n";
  const std::string curves = "checkpoint,layer,q_head,curve,x,value\n";
  const std::string windows = "checkpoint,layer,q_head,curve,x,x_end,x_mean,value\n";
  for (const auto& [kind, text] : std::vector<std::pair<SeriesTable, std::string>>{
           {SeriesTable::bands, ""},
           {SeriesTable::bands, "checkpoint,layer,q_head,pair\n"},
           {SeriesTable::bands, bands + "a,0,7,0,1,1\n"},
           {SeriesTable::bands, bands + "a,0,1,1,1,1\n"},
           {SeriesTable::bands, bands + "a,0,1,0,1,1\na,0,1,0,1,1\n"},
           {SeriesTable::bands, bands + "a,0,1,0,,1\n"},
           {SeriesTable::bands, bands + "a,0,1,0,1,-4\n"},
           {SeriesTable::curves, curves + "a,0,1,dist_pred,1,x\n"},
           {SeriesTable::curves, curves + "a,0,1,dist_pred,2,1\na,0,1,dist_pred,1,1\n"},
           {SeriesTable::curves, windows + "a,0,1,dist_pred,4,4,4,1\n"},
           {SeriesTable::curves, windows + "a,0,1,dist_pred,4,8,8,1\n"},
           {SeriesTable::curves, windows + "a,0,1,dist_pred,4,8,,1\n"},
           {SeriesTable::curves, windows + "a,0,1,dist_pred,4,8,5,1\na,0,1,dist_pred,6,,,1\n"},
           {SeriesTable::curves, windows + "a,0,1,dist_pred,4,,,1\na,0,1,dist_pred,6,12,8,1\n"},
           {SeriesTable::curves, curves + "a,0,1,,1,1\n"}}) {
    RunTable read = table;
    EXPECT_THROW(parse_series_table(read, kind, text, "file"), InputError) << text;
    EXPECT_TRUE(read.checkpoints[0].series.empty());
  }
  RunTable read = table;  // a curve that a user added
  parse_series_table(read, SeriesTable::curves, curves + "a,0,1,theirs,1,1\n", "file");
  EXPECT_TRUE(read.checkpoints[0].series[series_index("dist_pred")].value.empty());
}

TEST(SeriesSummary, ErrorsOfOtherMeansAreNotTaken) {
  const RunTable table = written();
  const CheckpointTable& one = table.checkpoints[0];
  const Json bands = summarize_bands(checkpoints()[0]);
  ASSERT_EQ(bands.size(), 1);
  const auto taken = [&](const Json& sets) {
    const size_t index = series_index("energy_q");
    std::vector<SeriesMean> means = one.series[index].means;
    means[0].se.assign(3, std::nan(""));
    fill_series_errors(means, index, one, {{"bands", {{one.label, sets}}}});
    return !std::isnan(means[0].se[0]);
  };
  EXPECT_TRUE(taken(bands));
  Json other = bands;
  other[0]["energy_q"]["value"][1] = 1e3;
  EXPECT_FALSE(taken(other));
  other = bands;
  other[0]["theta"][0] = 0.5;
  EXPECT_FALSE(taken(other));
  other = bands;
  other[0]["energy_q"]["se"] = "none";
  EXPECT_FALSE(taken(other));
  EXPECT_FALSE(taken(7));
}

}  // namespace
}  // namespace ropewalk
