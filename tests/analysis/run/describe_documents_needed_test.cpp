#include "ropewalk/analysis/run/describe_documents_needed.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

Json leaf(Json se) { return {{"value", 0.5}, {"se", std::move(se)}}; }

Json summary(Json of_init, Json of_a, Json of_b) {
  const auto checkpoint = [](const char* label, bool random, int64_t documents) {
    return Json{{"label", label}, {"random", random}, {"documents", documents}};
  };
  Json json{
      {"checkpoints",
       {checkpoint("init", true, 64), checkpoint("A", false, 64), checkpoint("B", false, 32)}}};
  json["mean_r_q"] = {
      {"init", leaf(std::move(of_init))}, {"A", leaf(std::move(of_a))}, {"B", leaf(0.001)}};
  json["mean_r_k"] = {{"init", leaf(0.002)}, {"A", leaf(0.002)}, {"B", leaf(std::move(of_b))}};
  return json;
}

TEST(DocumentsNeeded, GrowWithTheSquareOfTheWorstError) {
  EXPECT_EQ(describe_documents_needed(summary(0.2, 0.003, 0.01)),
            "The largest standard error of mean r_q and mean r_k is 0.0100, for 'B' with 32 "
            "documents; ± 0.005 needs about 128.");
  EXPECT_EQ(describe_documents_needed(summary(0.2, 0.02, 0.01)),
            "The largest standard error of mean r_q and mean r_k is 0.0200, for 'A' with 64 "
            "documents; ± 0.005 needs about 1024.")
      << "whatever the random baseline has";
}

TEST(DocumentsNeeded, SayNothingWithoutErrors) {
  Json none = summary(0.2, Json(), Json());
  none["mean_r_q"]["B"]["se"] = none["mean_r_k"]["A"]["se"] = Json();
  EXPECT_EQ(describe_documents_needed(none), "");
  EXPECT_EQ(describe_documents_needed({{"checkpoints", Json::array()}}), "");
}

}  // namespace
}  // namespace ropewalk
