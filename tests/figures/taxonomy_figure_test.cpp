#include <gtest/gtest.h>

#include "ropewalk/figures/figure.h"
#include "tests/figures/small_runs.h"

namespace ropewalk {
namespace {

TEST(Taxonomy, StacksToOne) {
  const Json spec = taxonomy(small_run(2), {});
  const Json& rows = spec["datasets"]["segments"];
  ASSERT_EQ(rows.size(), 10u);
  EXPECT_EQ(rows[0]["class"], "position-dominated");
  EXPECT_DOUBLE_EQ(rows[4]["to"].get<double>(), 1);
  EXPECT_EQ(layer_of(spec, "segments")["encoding"]["y"]["scale"]["domain"], Json::parse("[0, 1]"));
}

TEST(Taxonomy, SaysWhyABarIsMissing) {
  RunNumbers run = small_run(2);
  for (CheckpointNumbers& one : run.checkpoints) one.classes[0].se = 0.1;
  EXPECT_NE(figure_subtitle(taxonomy(run, {})).find("position-dominated share."),
            std::string::npos);
  run.checkpoints[1].classes[0].se = std::nan("");
  const std::string text = figure_subtitle(taxonomy(run, {}));
  EXPECT_NE(text.find("share; none where resampling the documents hardly moves it."),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace ropewalk
