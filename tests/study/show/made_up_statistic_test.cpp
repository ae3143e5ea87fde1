// A statistic is a single value in the code: this one is made up, and everything that shows
// statistics shows it.

#include <gtest/gtest.h>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/study/show/compare.h"
#include "ropewalk/study/show/figures.h"
#include "ropewalk/study/show/report_table.h"
#include "ropewalk/study/show/tables.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

// The complete statistic: mean squared length of a head's queries about their mean.
const Statistic kMadeUp{
    .key = "made_up",
    .title = "made up",
    .definition = "mean squared length of queries about their mean",
    .scale = ChangeScale::size,
    .per = Granularity::head,
    .low = 0,
    .list_changes = true,
    .views = {{.key = "made_up",
               .name = "made up",
               .high = 20,
               .mean = "mean_made_up",
               .spread = "sd_made_up",
               .depth = "depth_made_up",
               .mean_name = "mean made up",
               .hint = "of queries",
               .depth_title = "Made up by depth",
               .line = {"made up", "circle"}}},
    .figure = {"made_up_figure", "Made up over training", "squared length", "Mean"},
    .compute = [](const HeadReplicates& head) {
      const at::Tensor sums = head.queries.products.diagonal(0, 1, 2).sum(1);
      return (sums / head.queries.tokens).unsqueeze(1);
    }};

CheckpointTable checkpoint(const std::string& label, double scale) {
  at::manual_seed(3);
  CheckpointTable made;
  made.label = label;
  made.blocks = 9;
  made.last_layer = 3;
  for (int64_t i = 0; i < 9; ++i) made.documents.emplace_back(i, 0);
  for (int64_t layer = 0; layer < 4; ++layer) {
    std::vector<at::Tensor> q, k;
    for (int document = 0; document < 9; ++document) {
      q.push_back(at::randn({20, 4}, at::kDouble) * scale);
      k.push_back(at::randn({20, 4}, at::kDouble));
    }
    add_head(made, {layer, 0, 0, true},
             make_replicates(leave_one_out(stream_input(q)), leave_one_out(stream_input(k)), 2),
             std::vector<double>(9, 40));
  }
  return made;
}

class MadeUpStatistic : public testing::Test {
 protected:
  const AddedStatistic added_{kMadeUp};
  std::vector<CheckpointTable> checkpoints_{checkpoint("a", 1), checkpoint("b", 2)};
  const StudyTables tables_ = make_tables(checkpoints_, "");
};

bool positive(const Json& leaf) { return leaf.is_number() && leaf.get<double>() > 0; }

TEST_F(MadeUpStatistic, IsInTheTableAndReadBack) {
  const std::string text = format_qk_table(checkpoints_);
  EXPECT_NE(text.substr(0, text.find('\n')).find(",pc0_stability,made_up,made_up_se,n_q,"),
            std::string::npos);
  const RunTable read = parse_qk_table(text, "qk.csv");
  const HeadColumn& column = read.checkpoints[1].column("made_up");
  for (size_t row = 0; row < read.checkpoints[1].rows(); ++row) {
    EXPECT_NEAR(column.value[row], checkpoints_[1].column("made_up").value[row], 1e-6);
    EXPECT_GT(column.se[row], 0);
  }
  EXPECT_EQ(format_qk_table(tables_.heads.checkpoints), text) << "handed on as written";
}

TEST_F(MadeUpStatistic, IsInTheSummaryAndItsChanges) {
  const Json& summary = tables_.summary;
  for (const char* key : {"mean_made_up", "sd_made_up"}) {
    EXPECT_TRUE(positive(summary[key]["a"]["value"])) << key;
    EXPECT_TRUE(positive(summary[key]["a"]["se"])) << key;
    EXPECT_TRUE(positive(summary["rope"][key]["a"]["value"])) << key;
  }
  EXPECT_TRUE(positive(summary["depth_made_up"]["a"][0]["se"]));
  const Json& change = summary["differences"][0];
  EXPECT_TRUE(change["mean_made_up"]["real"].get<bool>());
  EXPECT_TRUE(positive(change["mean_made_up"]["se"]));
  EXPECT_EQ(change["heads_made_up"].size(), 4u);
}

TEST_F(MadeUpStatistic, IsDrawn) {
  std::vector<std::string> names;
  for (const Figure& figure : study_figures(tables_, {})) {
    names.push_back(figure.name);
    if (figure.name == "made_up_figure") {
      const Json& rows = figure.spec["datasets"]["means"];
      ASSERT_EQ(rows.size(), 2u);
      EXPECT_EQ(rows[1]["mean"], tables_.numbers().checkpoints[1].views.back().over_heads.mean);
      EXPECT_EQ(rows[1]["se"], tables_.summary["mean_made_up"]["b"]["se"]);
    }
    if (figure.name == "depth_made_up") {
      EXPECT_TRUE(positive(figure.spec["datasets"]["cells"][0]["se"]));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"position_signal", "how_positional", "phase_portraits",
                                             "taxonomy", "depth_r_q", "depth_r_k", "depth_made_up",
                                             "explained_variance", "pc0_composition", "drift_bias",
                                             "made_up_figure"}));
}

TEST_F(MadeUpStatistic, IsOnThePage) {
  const Json statistic = report_statistics().back();
  EXPECT_EQ(statistic["key"], "made_up");
  EXPECT_EQ(statistic["definition"], kMadeUp.definition);
  EXPECT_EQ(statistic["error"], "made_up_se");
  EXPECT_EQ(statistic["readings"][0]["mean"], "mean_made_up");
  const Json table = report_table(tables_.heads);
  EXPECT_TRUE(table["head_columns"].contains("made_up"));
  EXPECT_TRUE(table["head_columns"].contains("made_up_se"));
}

TEST_F(MadeUpStatistic, IsComparedAndDocumented) {
  const std::string text =
      compare_with_reference(tables_.numbers(), {{"mean_made_up", {{"a", 1.0}}}}, "reference.json");
  EXPECT_TRUE(text.starts_with("mean_made_up\n")) << text;
  EXPECT_NE(describe_columns().find("| `made_up` | mean squared length of queries about their "
                                    "mean |\n| `made_up_se` |"),
            std::string::npos);
}

TEST(AddedStatistics, AWrongRowCountSaysFoundAndExpected) {
  Statistic wrong = kMadeUp;
  wrong.compute = [](const HeadReplicates& head) { return kMadeUp.compute(head).slice(0, 0, 3); };
  const AddedStatistic added(wrong);
  try {
    checkpoint("a", 1);
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(),
                 "statistic made_up: compute() gave [3, 1], expected [10, 1 or more]: one row for "
                 "the whole sample, then each block left out");
  }
}

TEST(AddedStatistics, GoWithTheirOwner) {
  const size_t before = statistics().size();
  {
    const AddedStatistic added(kMadeUp);
    EXPECT_EQ(statistics().size(), before + 1);
  }
  EXPECT_EQ(statistics().size(), before);
  EXPECT_EQ(describe_columns().find("made_up"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
