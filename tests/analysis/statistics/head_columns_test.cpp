// Every column of heads.csv with its standard error, compared with the results of numpy and
// scikit-learn for the same vectors; tests/golden/heads_reference.py prints these.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ropewalk/analysis/analyze/analyze_head.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int64_t kTokens = 20, kDim = 12, kDocuments = 5;

// Numbers with a few digits that drift with position; kind 0 is for queries, 1 for keys.
std::vector<at::Tensor> documents(int64_t kind) {
  const double slopes[2][3] = {{1.0, -0.5, 0.25}, {0.5, 0.75, -1.0}};
  std::vector<at::Tensor> made;
  for (int64_t i = 0; i < kDocuments; ++i) {
    made.push_back(at::zeros({kTokens, kDim}, at::kDouble));
    auto x = made.back().accessor<double, 2>();
    for (int64_t t = 0; t < kTokens; ++t) {
      for (int64_t j = 0; j < kDim; ++j) {
        const int64_t mixed =
            7 * t + 13 * j + 5 * i + 3 * t * j + 4 * kind + t * t * (j + 1) + i * i * j * t;
        const auto noise = static_cast<double>(mixed % 23 - 11);
        const auto size = static_cast<double>(1 + j);
        x[t][j] = noise * (kind == 0 ? 1 : 0.5) / size +
                  static_cast<double>(t) * slopes[kind][j % 3] / (size + 1);
        if (j == 1) x[t][j] += kind == 0 ? 3 : -2;
      }
    }
  }
  return made;
}

struct Expected {
  double value;
  double se;
};
const std::map<std::string, Expected> kExpected{
    {"pc0_offset", {0.05063841942573359, 0.009016918303970573}},
    {"pc0_pos_q", {0.14613065158110655, 0.05947593968455006}},
    {"pc0_pos_k", {0.030300602430576494, 0.00923023842700396}},
    {"pc0_content", {0.7729303265625833, 0.05785805595982785}},
    {"within_ev", {0.642022589029198, 0.011934188761676767}},
    {"within_r_q", {0.4261398983926326, 0.08619733739595352}},
    {"within_r_k", {0.4447633152675206, 0.06131144766772023}},
    {"position_r", {0.47962560680362115, 0.04817074817427663}},
    {"r_q_a", {0.4421506190725986, 0.07151457276616802}},
    {"r_k_a", {0.607364804206283, 0.048490183433628445}},
    {"alpha_q", {0.5050913750115412, 0.0963381860458847}},
    {"alpha_k", {0.39350734836272255, 0.03991735266639875}},
    {"mu_q_a", {4.8550888625429796, 0.11350503728870176}},
    {"mu_k_a", {3.4344776966904975, 0.26121347430262787}},
    {"mu_q_b", {1.8749655792491304, 0.41152729003226823}},
    {"mu_k_b", {-2.7953687912795098, 0.33688438129086296}},
    {"bias_strength", {1.9105131443646746, 0.17123649373157868}},
    {"bias_off", {-0.4211056385171901, 0.14341738762456577}},
    {"bias_context", {18.14987487146441, 1.626746690449997}},
    {"separation_strength", {0.27221021924446764, 0.014898742979307659}},
    {"var_frac_a", {0.4974670477639937, 0.023079705681591442}},
    {"var_frac_b", {0.20947578554662732, 0.014969158765966632}},
    {"plane_var_fraction", {0.706942833310621, 0.020209149014653354}},
    {"drift_cos", {0.27261549651154016, 0.08505531586083956}},
    {"r2_q", {0.7400603088402201, 0.026128804491370585}},
    {"r2_k", {0.9365818372246796, 0.0126996842222901}},
    {"r2cv_q", {0.6729130169547719, 0.03993259865771835}},
    {"r2cv_k", {0.9186920027505527, 0.015205546969297271}},
    {"logit_sd", {16.29937055952592, 0.7570478761691509}},
    {"logit_pos_share", {0.20698787731603746, 0.05842168597524619}},
    {"logit_const", {5.625248641643246, 0.5899432681327496}},
    {"rank90_q", {3.565059370128092, 0.14921287743438236}},
    {"pr_q", {2.0257845957630964, 0.04944949781564498}},
    {"massive_q", {3.9901727928511317, 0.10454411002992652}},
    {"rank90_k", {2.9622936463977307, 0.07527906196921881}},
    {"pr_k", {2.414589136065877, 0.11352811873130338}},
    {"massive_k", {2.7200924954932697, 0.06952620545945531}},
    {"qfilter_ev", {0.7276860689361224, 0.015605161038416623}},
    {"gap01", {0.27485129985063717, 0.02419866226336913}},
    {"r2_pc2_q", {0.3562935586297852, 0.04416769042960525}},
    {"r2_pc2_k", {0.8478562480322961, 0.014522003542998655}},
    {"r2_pc10_q", {0.7363993366084548, 0.02579075278390452}},
    {"r2_pc10_k", {0.9334922421033349, 0.010883979836651165}},
    {"drift_stability", {0.9967606887809424, kUndefined}}};

TEST(HeadColumns, AsNumpy) {
  CheckpointTable checkpoint;
  const HeadReplicates head =
      make_replicates(leave_one_out(stream_input(documents(0))),
                      leave_one_out(stream_input(documents(1))), 10, {0.5, kTokens});
  add_head(checkpoint, {0, 0, 0, true}, head, std::vector<double>(kDocuments, 2 * kTokens));
  size_t compared = 0;
  for (const Statistic* statistic : statistics()) {
    // Statistics without a computation are only known along a run (carried_signs_test.cpp).
    if (statistic->table != Table::heads || statistic->compute == nullptr) continue;
    const HeadColumn& column = checkpoint.column(statistic->key);
    // Statistics of RoPE, and of what a capture keeps besides moments, need data that is missing
    // here (rope_columns_test.cpp, plasticity_test.cpp).
    if (!kExpected.contains(statistic->key)) {
      EXPECT_TRUE(std::isnan(column.value[0])) << statistic->key << ": not compared with numpy";
      continue;
    }
    const auto [value, se] = kExpected.at(statistic->key);
    EXPECT_NEAR(column.value[0], value, 1e-8 * std::abs(value)) << statistic->key;
    EXPECT_EQ(std::isnan(column.se[0]), std::isnan(se)) << statistic->key;
    if (!std::isnan(se)) {
      EXPECT_NEAR(column.se[0], se, 2e-5 * se) << statistic->key;
    }
    ++compared;
  }
  EXPECT_EQ(compared, kExpected.size());
}

}  // namespace
}  // namespace ropewalk
