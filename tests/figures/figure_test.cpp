#include "ropewalk/figures/figure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/table/heads_reader.h"
#include "ropewalk/analysis/table/qk_reader.h"
#include "ropewalk/base/error.h"
#include "ropewalk/figures/by_depth.h"
#include "ropewalk/figures/over_training.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/series_figures.h"
#include "tests/analysis/replicates/made_head.h"
#include "tests/figures/small_runs.h"

namespace ropewalk {
namespace {

TEST(Figures, AreSixWithSchemaAndTitle) {
  const auto figures = make_figures(small_run(3), {});
  ASSERT_EQ(figures.size(), 6u);
  for (const Figure& figure : figures) {
    EXPECT_EQ(figure.spec["$schema"], theme::kSchema) << figure.name;
    EXPECT_FALSE(figure.spec["title"]["text"].get<std::string>().empty()) << figure.name;
  }
  EXPECT_EQ(make_figures(small_run(3, false), {}).size(), 5u);
  EXPECT_EQ(missing_figures(small_run(3, false)), std::vector<std::string>{"explained_variance"});
}

TEST(Figures, PositionSignalHasTheSpecifiedMarks) {
  const Json spec = over_training(small_run(3), {}, "position_signal");
  const Json markers = layer_of(spec, "markers")["encoding"];
  EXPECT_EQ(markers["shape"]["scale"]["range"], Json::parse(R"(["circle", "square", "stroke"])"));
  EXPECT_EQ(markers["color"]["scale"]["range"][0], theme::kQueries);
  EXPECT_EQ(markers["color"]["scale"]["range"][1], theme::kKeys);
  EXPECT_EQ(layer_of(spec, "bands")["mark"]["type"], "area");
  EXPECT_TRUE(layer_of(spec, "separators")["mark"].contains("strokeDash"));
  EXPECT_EQ(spec["datasets"]["separators"].size(), 1u);
  EXPECT_EQ(spec["datasets"]["phases"].size(), 2u);
  EXPECT_EQ(spec["datasets"]["means"].size(), 9u);
}

TEST(Figures, ThoseOfPc0SayWhatItIsMadeOf) {
  const auto made = [](const std::string& parts, const Json& summary) {
    RunTable heads = parse_qk_table(
        "checkpoint,phase,layer,q_head,pc,r_q,r_k\na,P,0,0,0,0.9,0.8\nb,P,0,0,0,0.9,0.8\n",
        "qk.csv");
    parse_heads_table(heads,
                      "checkpoint,layer,q_head,pc0_offset,pc0_pos_q,pc0_pos_k,pc0_content\n"
                      "a,0,0,0,0,0,1\nb,0,0," +
                          parts + "\n",
                      "heads.csv");
    return make_figures(run_numbers(heads, summary, "summary.json"), {});
  };
  const auto text_of = [](const std::vector<Figure>& figures, const std::string& name) {
    for (const Figure& figure : figures) {
      if (figure.name == name) return figure_subtitle(figure.spec);
    }
    return std::string("no figure");
  };
  const auto figures = made("0.6,0.1,0.05,0.25", {});
  for (const char* name :
       {"position_signal", "phase_portraits", "taxonomy", "depth_r_q", "depth_r_k"}) {
    EXPECT_NE(text_of(figures, name)
                  .find(" At b, PC0 is mostly the offset between queries and keys: 60 % of its "
                        "variance; 15 % is position."),
              std::string::npos)
        << name << ": " << text_of(figures, name);
  }
  EXPECT_NE(text_of(made("0.1,0.3,0.4,0.2", {}), "taxonomy")
                .find("mostly position: 70 % of its variance; 10 % is the offset"),
            std::string::npos);
  EXPECT_NE(
      text_of(made("0.37,0.2,0.18,0.25", {}), "taxonomy")
          .find("PC0 is 37 % offset between queries and keys, 38 % position and 25 % content."),
      std::string::npos);
  for (const Figure& figure : make_figures(small_run(3), {})) {
    EXPECT_EQ(figure_subtitle(figure.spec).find("PC0 is"), std::string::npos) << "nobody knows";
  }
}

TEST(Figures, LeaveOutLinesWithoutANumber) {
  RunTable heads = parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.9,0.8\nb,0,0,0,0.9,0.8\n", "qk.csv");
  const auto lines = [&](const std::string& numbers) {
    parse_heads_table(heads, "checkpoint,layer,q_head,r2cv_q,r2cv_k,logit_pos_share\n" + numbers,
                      "heads.csv");
    const Json spec = over_training(run_numbers(heads), {}, "how_positional");
    return layer_of(spec, "markers")["encoding"]["shape"]["scale"]["domain"];
  };
  EXPECT_EQ(lines("a,0,0,0.5,0.6,\nb,0,0,0.5,0.6,\n"),
            Json::parse(R"(["R² of queries", "R² of keys"])"));
  EXPECT_EQ(lines("a,0,0,0.5,0.6,\nb,0,0,0.5,0.6,0.1\n").size(), 3u) << "known at one of them";
}

TEST(Figures, NameTheContextsWhereTheseDiffer) {
  const RunTable heads = parse_qk_table(
      "checkpoint,phase,layer,q_head,pc,r_q,r_k,flag\ni,P,0,0,0,0.9,0.8,random_weights\n"
      "a,P,0,0,0,0.9,0.8,\nb,P,0,0,0,0.9,0.8,\nc,,0,0,0,0.9,0.8,\n",
      "qk.csv");
  const auto summary = [](int last) {
    return parse_json(
        fmt::format(
            R"({{"checkpoints": [{{"label": "i", "context": 64}}, {{"label": "a", "context": 64}},
                        {{"label": "b", "context": {0}}}, {{"label": "c", "context": {0}}}]}})",
            last),
        "summary.json");
  };
  const auto names = [](const Json& rows) {
    std::string text;
    for (const Json& row : rows) text += row["phase"].get<std::string>() + "; ";
    return text;
  };
  const RunNumbers several = run_numbers(heads, summary(512), "summary.json");
  const RunNumbers one = run_numbers(heads, summary(64), "summary.json");
  const size_t r_q = view_index("r_q");
  EXPECT_EQ(names(by_depth(several, {}, r_q)["datasets"]["phases"]),
            "baseline @64; P @64; P @512; @512; ");
  EXPECT_EQ(names(by_depth(one, {}, r_q)["datasets"]["phases"]), "baseline; P; ; ");
  const Json panels = portraits(several, {}, r_q, view_index("r_k"))["concat"];
  EXPECT_EQ(panels[0]["title"]["subtitle"], "P @64, n = 1");
  EXPECT_EQ(panels[2]["title"]["subtitle"], "@512, n = 1");
  EXPECT_EQ(portraits(one, {}, r_q, view_index("r_k"))["concat"][0]["title"]["subtitle"],
            "P, n = 1");
}

TEST(Figures, ALineOfOneCheckpointHasABarAmongOthers) {
  const RunNumbers run = run_numbers(
      parse_qk_table("checkpoint,layer,q_head,pc,r_q,r_k\n"
                     "a,0,0,0,0.9,0.8\na,1,0,0,0.5,0.8\nb@512,0,0,0,0.2,-0.1\nb@512,1,0,0,0.3,0\n"
                     "b@1024,0,0,0,0.2,-0.1\nb@1024,1,0,0,0.4,0.1\n",
                     "qk.csv"),
      parse_json(R"({"checkpoints": [{"label": "a", "context": 512}]})", "summary.json"),
      "summary.json");
  const Json spec = over_training(run, {}, "position_signal");
  const Json& rows = spec["datasets"]["means"];
  EXPECT_EQ(rows[0]["segment"], rows[1]["segment"]);
  EXPECT_NE(rows[0]["segment"], rows[2]["segment"]);
  EXPECT_FALSE(rows[1].contains("alone"));
  EXPECT_EQ(rows[2]["alone"], true);
  EXPECT_EQ(layer_of(spec, "bands")["mark"]["type"], "area");
  EXPECT_EQ(layer_of(spec, "bands alone")["mark"]["type"], "bar");
  EXPECT_EQ(layer_of(spec, "line mean |r_k| alone")["mark"]["type"], "tick");
}

TEST(Figures, OneCheckpointHasABandToo) {
  EXPECT_EQ(layer_of(over_training(small_run(1), {}, "position_signal"), "bands")["mark"]["type"],
            "bar");
}

TEST(Figures, ABaselineWithoutANumberIsNotSaidToBeDrawn) {
  RunTable table = parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k,flag\n"
      "init,0,0,0,0.9,0.8,random_weights\na,0,0,0,0.2,-0.1,\nb,0,0,0,0.2,-0.1,\n",
      "qk.csv");
  parse_heads_table(table, "checkpoint,layer,q_head,pc0_overlap\nb,0,0,0.9\n", "heads.csv");
  const auto said = [&](const std::string& key) {
    const Json spec = over_training(run_numbers(table), {}, view_index(key));
    return spec["title"]["subtitle"].dump().find("Dotted") != std::string::npos;
  };
  EXPECT_FALSE(said("pc0_overlap"));
  EXPECT_TRUE(said("r_q"));
}

TEST(Figures, AMeanIsOverTheHeadsThatHaveTheNumber) {
  RunTable table = parse_qk_table(
      "checkpoint,layer,q_head,pc,r_q,r_k\na,0,0,0,0.9,0.8\na,0,1,0,0.2,-0.1\n"
      "b,0,0,0,0.9,0.8\nb,0,1,0,0.2,-0.1\n",
      "qk.csv");
  parse_heads_table(table,
                    "checkpoint,layer,q_head,r2_q,mu_k_a\na,0,0,0.5,1\na,0,1,,2\nb,0,0,0.5,3\n"
                    "b,0,1,0.25,4\n",
                    "heads.csv");
  const RunNumbers run = run_numbers(table);
  const Json spec = over_training(run, {}, view_index("r2_q"));
  EXPECT_EQ(spec["datasets"]["means"][0]["heads"], 1);
  EXPECT_EQ(spec["datasets"]["means"][1]["heads"], 2);
  const auto said = [](const Json& figure) {
    std::string text;
    for (const Json& line : figure["title"]["subtitle"]) text += line.get<std::string>() + " ";
    return text;
  };
  EXPECT_EQ(said(spec).find("Mean over 1–2 heads; "), 0u) << said(spec);
  EXPECT_NE(said(over_training(run, {}, view_index("r_q"))).find("over 2 heads"),
            std::string::npos);
  EXPECT_NE(said(by_depth(run, {}, view_index("r2_q"))).find("1–2 heads in all"),
            std::string::npos);
  const std::string twice = said(by_depth(run, {}, view_index("mu_k_a")));
  EXPECT_EQ(twice.find("Mean of the mean key"), 0u) << twice;
}

// Of heads in two groups: seven at 0.98 and one at 0.1.
RunNumbers two_groups() {
  std::string qk = "checkpoint,layer,q_head,pc,r_q,r_k\n";
  std::string heads = "checkpoint,layer,q_head,r2cv_k,dist_argmax,ap_overall\n";
  for (int i = 0; i < 8; ++i) {
    qk += fmt::format("a,{},0,0,{},0.9\nb,{},0,0,{},0.9\n", i, i < 7 ? 1.0 : 0.0, i, 0.9);
    for (const char* label : {"a", "b"}) {
      heads += i < 7 ? fmt::format("{},{},0,0.98,0,0.9\n", label, i)
                     : fmt::format("{},{},0,0.1,400,0.2\n", label, i);
    }
  }
  RunTable table = parse_qk_table(qk, "qk.csv");
  parse_heads_table(table, heads, "heads.csv");
  return run_numbers(table);
}

TEST(Figures, NoBandPassesALimit) {
  const RunNumbers run = two_groups();
  const auto said = [](const Json& figure) {
    std::string text;
    for (const Json& line : figure["title"]["subtitle"]) text += line.get<std::string>() + " ";
    return text;
  };
  const Json fit = over_training(run, {}, view_index("r2cv_k"));
  const Json& row = fit["datasets"]["means"][0];
  EXPECT_GT(row["mean"].get<double>() + row["sd"].get<double>(), 1) << "the case in question";
  EXPECT_DOUBLE_EQ(row["band_low"].get<double>(), 0.98) << "quartiles, as numpy.quantile has them";
  EXPECT_DOUBLE_EQ(row["band_high"].get<double>(), 0.98);
  EXPECT_NE(said(fit).find("the middle half of the heads"), std::string::npos) << said(fit);
  EXPECT_NE(said(fit).find("A mean outside its band"), std::string::npos) << said(fit);
  EXPECT_EQ(layer_of(fit, "bands")["encoding"]["y"]["scale"]["domain"][1], 1);
  const Json far = over_training(run, {}, view_index("dist_argmax"));
  EXPECT_EQ(layer_of(far, "bands")["encoding"]["y"]["scale"]["domain"][0], 0);
  EXPECT_EQ(far["datasets"]["means"][0]["band_low"], 0);
  // What was published keeps ±1 SD, and ends at the limit.
  const Json published = over_training(run, {}, "position_signal");
  EXPECT_GT(published["datasets"]["means"][0]["sd"].get<double>(), 0.3);
  EXPECT_EQ(published["datasets"]["means"][0]["band_high"], 1);
  EXPECT_NE(said(published).find("±1 SD across heads, cut off at the limit"), std::string::npos)
      << said(published);
}

TEST(Figures, StackedSharesHaveNoBandsToSpeakOf) {
  std::string qk = "checkpoint,layer,q_head,pc,r_q,r_k\n";
  std::string parts = "checkpoint,layer,q_head,pc0_offset,pc0_pos_q,pc0_pos_k,pc0_content\n";
  for (int i = 0; i < 8; ++i) {
    qk += fmt::format("a,{0},0,0,0.5,0.5\nb,{0},0,0,0.5,0.5\n", i);
    for (const char* label : {"a", "b"})
      parts += fmt::format("{},{},0,{},0,0,{}\n", label, i, i < 7 ? 0 : 1, i < 7 ? 1 : 0);
  }
  RunTable table = parse_qk_table(qk, "qk.csv");
  parse_heads_table(table, parts, "heads.csv");
  const std::string text =
      figure_subtitle(over_training(run_numbers(table), {}, "pc0_composition"));
  EXPECT_EQ(text.find("band"), std::string::npos) << text;
}

TEST(Figures, PlasticityIsDrawnOnZeroToOne) {
  const Json spec = position_figure(*series()[series_index("plasticity")], two_groups(), {});
  for (const Json& one : spec["vconcat"][0]["layer"]) {
    if (!one["encoding"].contains("y") || one["encoding"]["y"]["scale"].is_null()) continue;
    EXPECT_EQ(one["encoding"]["y"]["scale"]["domain"], Json::parse("[0.0, 1.0]")) << one["name"];
  }
  for (const Json& row : spec["datasets"]["means"]) {
    if (!row["band_high"].is_number()) continue;
    EXPECT_LE(row["band_high"].get<double>(), 1);
  }
}

TEST(Figures, AskedForByTheirKeys) {
  FigureOptions options;
  options.asked.statistics = {"r_k", "abs_r_k", "r_k", "bias_context"};
  options.asked.portraits = {{"r_q", "explained_variance"}, {"r_q", "bias_context"}};
  std::vector<std::string> names;
  for (const Figure& figure : make_figures(small_run(2), options)) names.push_back(figure.name);
  // The table has no bias_context.
  names.erase(names.begin(), names.begin() + 6);
  EXPECT_EQ(names,
            (std::vector<std::string>{"over_training_r_k", "by_depth_r_k", "over_training_abs_r_k",
                                      "by_depth_abs_r_k", "portrait_r_q_explained_variance"}));
  const Json spec = over_training(small_run(2), {}, view_index("r_k"));
  EXPECT_EQ(spec["datasets"]["means"].size(), 2u);
  EXPECT_EQ(spec["title"]["text"], "r_k on PC0, over training");
  options.asked.statistics = {"r_kk"};
  EXPECT_THROW(make_figures(small_run(2), options), UsageError);
}

}  // namespace
}  // namespace ropewalk
