#include "ropewalk/analysis/table/qk_reader.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

const std::string kHeader = "checkpoint,layer,q_head,pc,r_q,r_k\n";

std::string failure(const std::string& text) {
  try {
    parse_qk_table(text, "qk.csv");
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(QkReader, NeedsOnlySixColumns) {
  const RunTable table = parse_qk_table(kHeader + "a,0,1,0,0.5,-0.25\na,0,1,1,0.1,\n", "qk.csv");
  ASSERT_EQ(table.checkpoints.size(), 1u);
  const CheckpointTable& checkpoint = table.checkpoints[0];
  EXPECT_EQ(checkpoint.label, "a");
  EXPECT_EQ(checkpoint.phase, "");
  EXPECT_FALSE(checkpoint.random);
  ASSERT_EQ(checkpoint.rows(), 2u);
  EXPECT_EQ(checkpoint.q_head[0], 1);
  EXPECT_DOUBLE_EQ(checkpoint.column("r_k").value[0], -0.25);
  EXPECT_TRUE(std::isnan(checkpoint.column("explained_variance").value[0]));
  EXPECT_EQ(checkpoint.rope[0], CheckpointTable::kUnknown);
  EXPECT_TRUE(std::isnan(checkpoint.column("r_k").value[1]));
}

TEST(QkReader, TakesStandInsWhereAColumnIsAbsent) {
  const RunTable table = parse_qk_table("model,layer,head,pc,r_q,r_k\nm,3,4,0,0.5,0.5\n", "qk.csv");
  EXPECT_EQ(table.checkpoints[0].label, "m");
  EXPECT_EQ(table.checkpoints[0].q_head[0], 4);
  const RunTable both =
      parse_qk_table("model,checkpoint,layer,q_head,pc,r_q,r_k\nm,c,3,4,0,0.5,0.5\n", "qk.csv");
  EXPECT_EQ(both.checkpoints[0].label, "c");
  EXPECT_EQ(both.checkpoints[0].model, "m");
}

TEST(QkReader, OrdersByColumnElseByAppearance) {
  const auto labels = [](const std::string& text) {
    std::string all;
    for (const CheckpointTable& checkpoint : parse_qk_table(text, "qk.csv").checkpoints) {
      all += checkpoint.label;
    }
    return all;
  };
  EXPECT_EQ(labels(kHeader + "b,0,0,0,0,0\na,0,0,0,0,0\nb,0,1,0,0,0\n"), "ba");
  const std::string ordered = "order,checkpoint,layer,q_head,pc,r_q,r_k\n";
  EXPECT_EQ(labels(ordered + "10,b,0,0,0,0,0\n9.0,a,0,0,0,0,0\n"), "ab");
  EXPECT_EQ(labels(ordered + "2,b,0,0,0,0,0\n,a,0,0,0,0,0\n"), "ba");
}

TEST(QkReader, ModelsSideBySideHaveTheSamePlace) {
  const std::string ordered = "order,checkpoint,layer,q_head,pc,r_q,r_k\n";
  const auto order_of = [&](const std::string& rows) {
    std::string text;
    for (const CheckpointTable& one : parse_qk_table(ordered + rows, "t").checkpoints) {
      text += fmt::format("{}{}{} ", one.label, one.order, one.independent_model ? "!" : "");
    }
    return text;
  };
  EXPECT_EQ(order_of("0,b,0,0,0,0,0\n0,a,0,0,0,0,0\n"), "b0! a0! ");
  EXPECT_EQ(order_of("0,b,0,0,0,0,0\n1,a,0,0,0,0,0\n"), "b0 a1 ");
  EXPECT_EQ(order_of("0,b,0,0,0,0,0\n"), "b0 ") << "a run of one";
  EXPECT_EQ(order_of(",b,0,0,0,0,0\n,a,0,0,0,0,0\n"), "b0 a1 ") << "in the order of their rows";
}

TEST(QkReader, ReadsOptionalColumns) {
  const RunTable table = parse_qk_table(
      "checkpoint,phase,layer,q_head,rope,pc,explained_variance,r_q,r_k,flag,other\n"
      "init,,0,0,1,0,0.5,0.1,0.1,few_blocks;random_weights,x\n"
      "a,Stage 1,0,0,0,0,0.25,0.1,0.1,random_weights_not,x\n"
      "a,Stage 1,1,0,True,0,nan,NaN,NA,,x\n",
      "qk.csv");
  EXPECT_TRUE(table.checkpoints[0].random);
  const CheckpointTable& a = table.checkpoints[1];
  EXPECT_FALSE(a.random);
  EXPECT_EQ(a.phase, "Stage 1");
  EXPECT_EQ(a.rope[0], 0);
  EXPECT_EQ(a.rope[1], 1);
  EXPECT_DOUBLE_EQ(a.column("explained_variance").value[0], 0.25);
  EXPECT_TRUE(std::isnan(a.column("r_q").value[1]));
}

TEST(QkReader, ReadsStepsAndTokens) {
  const std::string header = "checkpoint,step,tokens,layer,q_head,pc,r_q,r_k\n";
  const RunTable table =
      parse_qk_table(header + "a,5,41000000000,0,0,0,0.5,0.5\nb,,,0,0,0,0.5,0.5\n", "qk.csv");
  EXPECT_EQ(table.checkpoints[0].step, 5);
  EXPECT_EQ(table.checkpoints[0].tokens, 41'000'000'000);
  EXPECT_EQ(table.checkpoints[1].step, CheckpointTable::kUnknown);
  EXPECT_EQ(table.checkpoints[1].tokens, CheckpointTable::kUnknown);
  const std::string text = failure(header + "a,5,,0,0,0,0.5,0.5\na,6,,0,1,0,0.5,0.5\n");
  EXPECT_TRUE(text.ends_with("the same value as in earlier rows of a")) << text;
}

TEST(QkReader, TakesWholeNumbersWithAPoint) {
  EXPECT_EQ(parse_qk_table(kHeader + "a,3.0,1.0,0.0,0,0\n", "qk.csv").checkpoints[0].layer[0], 3);
}

TEST(QkReader, NamesAMissingColumn) {
  EXPECT_EQ(failure("checkpoint,layer,q_head,pc,r_q\na,0,0,0,0\n"),
            "qk.csv, line 1: column 'r_k' is missing; found checkpoint, layer, q_head, pc, r_q; "
            "needed are checkpoint (or model), layer, q_head (or head), pc, r_q, r_k");
  EXPECT_NE(failure("layer,q_head,pc,r_q,r_k\n").find("'checkpoint' or 'model'"),
            std::string::npos);
}

TEST(QkReader, NamesLineColumnFoundAndExpected) {
  EXPECT_EQ(failure(kHeader + "a,0,0,0,0.5,0.5\na,0,1,0,abc,0.5\n"),
            "qk.csv, line 3, column r_q: found 'abc'; expected a number from -1 to 1, or nothing");
  EXPECT_EQ(failure(kHeader + "a,0,0,0,0.5,1.5\n"),
            "qk.csv, line 2, column r_k: found '1.5'; expected a number from -1 to 1, or nothing");
  EXPECT_NE(failure(kHeader + "a,0,0,0,inf,0\n").find("found 'inf'"), std::string::npos);
  EXPECT_NE(failure(kHeader + "a,1.5,0,0,0,0\n").find("column layer: found '1.5'"),
            std::string::npos);
  EXPECT_NE(failure(kHeader + "a,-1,0,0,0,0\n").find("expected a whole number"), std::string::npos);
  EXPECT_NE(failure(kHeader + "a,99999999,0,0,0,0\n").find("expected a whole number"),
            std::string::npos);
  EXPECT_NE(failure(kHeader + ",0,0,0,0,0\n").find("column checkpoint: found ''; expected a name"),
            std::string::npos);
  EXPECT_NE(failure(kHeader + "\xFF,0,0,0,0,0\n").find("UTF-8"), std::string::npos);
  EXPECT_NE(failure(kHeader + "a,0,0\n").find("line 2: has 3 fields; expected 6"),
            std::string::npos);
  EXPECT_NE(failure("checkpoint,layer,q_head,pc,r_q,r_k,rope\na,0,0,0,0,0,maybe\n")
                .find("column rope: found 'maybe'; expected 1 or 0"),
            std::string::npos);
}

TEST(QkReader, BoundsNames) {
  EXPECT_EQ(parse_qk_table(kHeader + std::string(1000, 'x') + ",0,0,0,0,0\n", "qk.csv")
                .checkpoints[0]
                .label.size(),
            1000u);
  EXPECT_NE(failure(kHeader + std::string(1001, 'x') + ",0,0,0,0,0\n")
                .find("…'; expected a name of at most 1000 bytes"),
            std::string::npos);
}

TEST(QkReader, RefusesRowsThatDisagree) {
  EXPECT_NE(failure(kHeader + "a,0,0,0,0,0\na,0,0,0,0,0\n").find("is already in line 2"),
            std::string::npos);
  const std::string phases = "checkpoint,phase,order,layer,q_head,pc,r_q,r_k\n";
  EXPECT_NE(failure(phases + "a,P,0,0,0,0,0,0\na,Q,0,0,1,0,0,0\n").find("column phase: found 'Q'"),
            std::string::npos);
  EXPECT_NE(failure(phases + "a,P,0,0,0,0,0,0\na,P,1,0,1,0,0,0\n").find("column order"),
            std::string::npos);
  EXPECT_NE(failure("checkpoint,layer,layer\n").find("duplicate column 'layer'"),
            std::string::npos);
}

TEST(QkReader, RefusesEmptyTables) {
  EXPECT_NE(failure("").find("is empty"), std::string::npos);
  EXPECT_NE(failure(kHeader).find("no rows"), std::string::npos);
}

TEST(QkReader, ReadsFiles) {
  const TemporaryFolder folder;
  const auto path = folder.write("qk.csv", kHeader + "a,0,0,0,0,0\n");
  EXPECT_EQ(read_qk_table(path).source, path.string());
  EXPECT_THROW(read_qk_table(folder.path() / "none.csv"), SystemError);
}

}  // namespace
}  // namespace ropewalk
