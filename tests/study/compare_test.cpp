#include "ropewalk/study/compare.h"

#include <gtest/gtest.h>

#include "ropewalk/analysis/qk_reader.h"
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

std::string failure(const std::string& reference) {
  try {
    compare(reference);
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
      compare(R"({"mean_r_q": {"a": {"value": 0.55, "se": 0.0075}}})");  // joined: 0.0125
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
  // What a reference says about itself, and the rest of a summary, is left alone.
  EXPECT_NE(compare(R"({"about": "x", "model": "m", "sd_r_q": {}, "depth_abs_r_k": {}, "heads": 3,
                        "mean_r_q": {"a": 0.5}})")
                .find("0.500"),
            std::string::npos);
}

TEST(Compare, RefusesWhatIsNoReference) {
  EXPECT_NE(failure("[]").find("expected a JSON object"), std::string::npos);
  EXPECT_EQ(failure(R"({"mean_r_q": 3})"),
            "reference.json: mean_r_q is a number; expected an object by label");
  EXPECT_NE(failure(R"({"mean_r_q": {"a": "x"}})").find("mean_r_q of 'a' is a string"),
            std::string::npos);
  EXPECT_NE(failure(R"({"depth_r_q": {"a": [1]}})").find("not a list of 10 cells"),
            std::string::npos);
}

}  // namespace
}  // namespace ropewalk
