#include "ropewalk/analysis/table/qk_table.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/table/qk_reader.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

CheckpointTable checkpoint(const std::string& label, int64_t order) {
  CheckpointTable made;
  made.label = label;
  made.model = label;
  made.phase = label;
  made.order = order;
  const Estimate half{0.5, 0.25, {}};
  add_made_head(made, 0, 0,
                {{"r_q", {-0.5, 0.25, {}}}, {"r_k", half}, {"explained_variance", half}}, {});
  return made;
}

TEST(QkTable, NamesAreNoFormulas) {
  const std::vector<std::string> names{
      "=1+1",    "+5K", "-3",  "@x", "\tx", "'=x",  "''-",
      "'plain'", "10K", "a=b", "'",  "\rx", "=a,b", "=HYPERLINK(\"x\")"};
  std::vector<CheckpointTable> checkpoints;
  for (const std::string& name : names) {
    checkpoints.push_back(checkpoint(name, static_cast<int64_t>(checkpoints.size())));
  }
  const std::string text = format_qk_table(checkpoints);
  for (const char* formula :
       {"\n=", "\n+", "\n-", "\n@", "\n\t", "\n\"=", "\n\"\r", ",=", ",\"="}) {
    EXPECT_EQ(text.find(formula), std::string::npos) << formula << " in " << text;
  }
  EXPECT_NE(text.find("\n'+5K,'+5K,'+5K,"), std::string::npos);
  EXPECT_NE(text.find("\n10K,10K,10K,"), std::string::npos);
  EXPECT_NE(text.find(",0.5,-0.5,0.5,"), std::string::npos) << "numbers stay numbers";

  const RunTable table = parse_qk_table(text, "qk.csv");
  ASSERT_EQ(table.checkpoints.size(), names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(table.checkpoints[i].label, names[i]);
    EXPECT_EQ(table.checkpoints[i].model, names[i]);
    EXPECT_EQ(table.checkpoints[i].phase, names[i]);
  }
}

}  // namespace
}  // namespace ropewalk
