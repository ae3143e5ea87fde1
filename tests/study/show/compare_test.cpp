#include "ropewalk/study/show/compare.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

RunNumbers run() {
  const Json summary =
      parse_json(R"({"mean_r_q": {"a": {"value": 0.6, "se": 0.01}}})", "summary.json");
  return run_numbers(parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\n"
                                    "a,0,0,0,0.8,0.9\na,9,0,0,0.4,-0.1\nb,0,0,0,0.5,0.5\n",
                                    "qk.csv"),
                     summary, "summary.json");
}

std::string compare(const std::string& reference) {
  return compare_with_reference(run(), parse_json(reference, "reference.json"), "reference.json");
}

// The same run with numbers of whole heads: two in a, one in b.
std::string compare_heads(const std::string& reference) {
  RunTable table = parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.8,0.9\na,9,0,0,0.4,-0.1\nb,0,0,0,0.5,0.5\n",
      "qk.csv");
  parse_heads_table(table,
                    "checkpoint,layer,q_head,r_k_a,bias_strength,alpha_k\n"
                    "a,0,0,-0.9,0.002,-0.0004\na,9,0,0.7,0.003,0.0002\nb,0,0,0.6,0.001,0.0001\n",
                    "heads.csv");
  const Json summary = parse_json(
      R"({"checkpoints": [{"label": "a", "context": 512}, {"label": "b", "context": null}]})",
      "summary.json");
  return compare_with_reference(run_numbers(table, summary, "summary.json"),
                                parse_json(reference, "reference.json"), "reference.json");
}

std::string failure(const std::string& reference,
                    std::string (*compared)(const std::string&) = compare) {
  try {
    compared(reference);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Compare, ShowsValueErrorReferenceAndDifference) {
  const std::string text = compare(R"({"mean_r_q": {"a": 0.58, "gone": 0.1}})");
  EXPECT_NE(text.find("a              0.600    0.010      0.580      +0.020    +2.0"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("only in the reference: gone"), std::string::npos);
  EXPECT_NE(text.find("only in the run: b"), std::string::npos);
}

TEST(Compare, JoinsTheErrorsOfBoth) {
  const std::string text =
      compare(R"({"mean_r_q": {"a": {"value": 0.55, "se": 0.0075}}})");  // combined error: 0.0125
  EXPECT_NE(text.find("+0.050    +4.0"), std::string::npos) << text;
}

TEST(Compare, ShowsClassesAndGrids) {
  const std::string text = compare(
      R"({"taxonomy": {"a": {"position-dominated": 0.4}},
          "depth_r_q": {"a": [0.7, null, 0, 0, 0, 0, 0, 0, 0, 0.5]}})");
  EXPECT_NE(text.find("position-dominated"), std::string::npos);
  EXPECT_NE(text.find("+0.100"), std::string::npos) << text;
  EXPECT_NE(text.find("over 2 cells: root mean square difference 0.100, largest 0.100"),
            std::string::npos)
      << text;
}

TEST(Compare, SaysWhenThereIsNothing) {
  EXPECT_EQ(failure(R"({"mean_r_q": {"z": 1}})"),
            "reference.json: has no label of the run; the run's are a, b");
  EXPECT_NE(failure(R"({"something": {"a": 1}})").find("has none of the keys mean_r_q, mean_r_k"),
            std::string::npos);
}

TEST(Compare, NamesAMistypedKey) {
  EXPECT_EQ(failure(R"({"mean_rq": {"a": 1}, "mean_r_k": {"a": 1}})"),
            "reference.json: unknown key 'mean_rq'; did you mean mean_r_q?");
  EXPECT_EQ(failure(R"({"taxonomies": {}, "mean_r_k": {"a": 1}})"),
            "reference.json: unknown key 'taxonomies'; did you mean taxonomy?");
  // The reference's description of itself, and other parts of a summary, are ignored.
  EXPECT_NE(compare(R"({"about": "x", "model": "m", "sd_r_q": {}, "depth_abs_r_k": {}, "heads": 3,
                        "mean_r_q": {"a": 0.5}})")
                .find("0.500"),
            std::string::npos);
}

TEST(Compare, RefusesWhatIsNoReference) {
  EXPECT_NE(failure("[]").find("expected a JSON object"), std::string::npos);
  EXPECT_EQ(failure(R"({"mean_r_q": 3})"),
            "reference.json: mean_r_q is a number; expected an object by label");
  EXPECT_EQ(failure(R"({"mean_r_q": [3]})"),
            "reference.json: mean_r_q is an array; expected an object by label");
  EXPECT_NE(failure(R"({"mean_r_q": {"a": "x"}})").find("mean_r_q of 'a' is a string"),
            std::string::npos);
  EXPECT_NE(failure(R"({"depth_r_q": {"a": [1]}})").find("not a list of 10 cells"),
            std::string::npos);
}

TEST(Compare, ShowsSmallNumbersWithThreeDigits) {
  const std::string text = compare_heads(
      R"({"mean_bias_strength": {"a": 0.0021}, "mean_abs_alpha_k": {"a": 0.000268, "b": 0.0001}})");
  EXPECT_NE(text.find("0.00250        –    0.00210    +0.00040"), std::string::npos) << text;
  EXPECT_NE(text.find("0.000300        –   0.000268   +0.000032"), std::string::npos) << text;
}

TEST(Compare, SetsTheRunBesideOtherModels) {
  const std::string text = compare_heads(
      R"({"mean_r_q": {"a": 0.5}, "other_models": {"about": "Published.", "context": 131072,
          "models": {"big": {"mean_abs_r_k_a": 0.743, "mean_bias_strength": 0.0003},
                     "all": {"mean_abs_r_k_a": 0.87}}}})");
  EXPECT_NE(text.find("other models, at a context of 131072 tokens\n"
                      "          context  mean_abs_r_k_a  mean_bias_strength\n"
                      "  all      131072           0.870                   –\n"
                      "  big      131072           0.743            0.000300\n"
                      "  this run\n"
                      "  a           512           0.800            0.002500\n"
                      "  b             –           0.600            0.001000\n"
                      "  Published.\n"),
            std::string::npos)
      << text;
}

TEST(Compare, OtherModelsNeedNoLabelInCommonButAColumn) {
  const std::string reference =
      R"({"mean_bias_strength": {"z": 1}, "other_models": {"context": 8, "models":
          {"big": {"mean_abs_r_k_a": 0.7}}}})";
  EXPECT_NE(compare_heads(reference).find("reference.json has no label of the run\n\nother"),
            std::string::npos);
  const std::string missing =
      "heads.csv is missing or was left out; ropewalk run and ropewalk analyze write it to the "
      "table's folder";
  EXPECT_EQ(failure(reference),
            "reference.json: has no label of the run; the run's are a, b; the run has no number "
            "for its other_models: " +
                missing);
  EXPECT_EQ(failure(R"({"mean_bias_strength": {"a": 1}})"),
            "reference.json: nothing to compare; the run has no mean_bias_strength: " + missing);
  // It is reported next to other keys that are compared, and no grid of dashes is printed.
  const std::string text = compare(
      R"({"mean_r_q": {"a": 0.5}, "mean_bias_strength": {"a": 1},
          "depth_r2cv_q": {"a": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}})");
  EXPECT_NE(text.find("not compared: mean_bias_strength, depth_r2cv_q: " + missing + "\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("depth to"), std::string::npos) << text;
  EXPECT_NE(failure(R"({"mean_r2cv_q": {"a": 1}})", compare_heads)
                .find("heads.csv does not have this column"),
            std::string::npos);
}

TEST(Compare, SetsTheContextsBesideEachOther) {
  const std::string text = compare_heads(
      R"({"mean_r_q": {"a": 0.5}, "checkpoints": [{"label": "a", "context": 4096},
          {"label": "b", "context": 512}, {"label": "z", "context": 8}]})");
  EXPECT_EQ(text.find("context (tokens per document)\n"
                      "  checkpoint       run  reference\n"
                      "  a                512       4096\n"
                      "  b                  –        512\n"
                      "  where the contexts differ, numbers per token (alpha_k, bias_strength) "
                      "cannot be compared\n\n"),
            0)
      << text;
  const std::string same = R"({"mean_r_q": {"a": 0.5}, "checkpoints": [{"label": "a", )";
  EXPECT_EQ(compare_heads(same + R"("context": 512}]})").find("differ,"), std::string::npos);
  EXPECT_EQ(compare(same + R"("phase": "p"}]})").find("context"), std::string::npos);
  EXPECT_EQ(failure(same + R"("context": "512"}]})"),
            "reference.json: checkpoints: context of 'a' is \"512\"; expected tokens per document, "
            "2 to 2147483647");
}

TEST(Compare, ReadsOtherModelsStrictly) {
  const auto refused = [](const std::string& section) {
    return failure(R"({"mean_r_q": {"a": 0.5}, "other_models": )" + section + "}", compare_heads);
  };
  const std::string models = R"("models": {"big": {"mean_abs_r_k_a": 0.7}})";
  EXPECT_EQ(refused("3"),
            "reference.json: other_models is a number; expected an object with about, context and "
            "models");
  EXPECT_EQ(refused("[]").substr(0, 41), "reference.json: other_models is an array;");
  EXPECT_EQ(refused(R"({"context": 8, "models": {" ": {"mean_abs_r_k_a": 0.7}}})"),
            "reference.json: other_models: models: a model has an empty name; give it one");
  EXPECT_EQ(refused(R"({"contexts": 8, )" + models + "}"),
            "reference.json: other_models: unknown key 'contexts'; did you mean context?");
  EXPECT_EQ(refused("{" + models + "}"),
            "reference.json: other_models: context is null; expected tokens per document, 2 to "
            "2147483647");
  EXPECT_EQ(refused(R"({"context": -4, )" + models + "}"),
            "reference.json: other_models: context is -4; expected tokens per document, 2 to "
            "2147483647");
  EXPECT_EQ(refused(R"({"about": 1, "context": 8, )" + models + "}"),
            "reference.json: other_models: about is a number; expected text");
  EXPECT_EQ(refused(R"({"context": 8})"),
            "reference.json: other_models: models is null; expected an object of models by name");
  EXPECT_EQ(refused(R"({"context": 8, "models": {}})"),
            "reference.json: other_models: models is empty; expected an object of models by name");
  EXPECT_EQ(refused(R"({"context": 8, "models": {"big": 0.7}})"),
            "reference.json: other_models, 'big' is a number; expected an object of means such as "
            "mean_abs_r_k_a");
  EXPECT_EQ(refused(R"({"context": 8, "models": {"big": {"mean_plane_var_fracton": 0.7}}})"),
            "reference.json: other_models, 'big': unknown key 'mean_plane_var_fracton'; did you "
            "mean mean_plane_var_fraction?");
  EXPECT_EQ(refused(R"({"context": 8, "models": {"big": {"mean_abs_r_k_a": "x"}}})"),
            "reference.json: other_models, 'big', mean_abs_r_k_a is a string; expected a number or "
            "{\"value\": …, \"se\": …}");
  EXPECT_EQ(failure(R"({"other_model": {}, "mean_r_q": {"a": 1}})"),
            "reference.json: unknown key 'other_model'; did you mean other_models?");
}

}  // namespace
}  // namespace ropewalk
