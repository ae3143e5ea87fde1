#include "ropewalk/analysis/run/model_summary.h"

#include <cmath>

#include "ropewalk/analysis/run/head_group.h"
#include "ropewalk/analysis/run/published_models.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

// Keys of the summary: first those without a sign or a unit of tokens, then those that were
// published.
constexpr const char* kMeans[] = {
    "mean_r2cv_q",        "mean_r2cv_k",      "mean_r_q",       "mean_r_k",
    "mean_abs_r_k",       "mean_abs_r_q_a",   "mean_abs_r_k_a", "mean_plane_var_fraction",
    "mean_bias_strength", "mean_bias_context"};

Json known(int64_t count) { return count > 0 ? Json(count) : Json(); }

// The share of heads in which the drift of keys increases attention to later keys.
Json positive_bias(const CheckpointTable& checkpoint) {
  const std::vector<double>& bias = checkpoint.column("bias_strength").value;
  int64_t heads = 0, positive = 0;
  for (const size_t row : whole_group(checkpoint).rows) {
    if (row >= bias.size() || std::isnan(bias[row])) continue;
    ++heads;
    positive += bias[row] > 0;
  }
  return heads == 0 ? Json() : Json(static_cast<double>(positive) / static_cast<double>(heads));
}

constexpr const char* kAllPublished = "all eleven";

// Null: nothing was published for this model.
Json published_of(const std::string& label) {
  return published_models().at("models").value(lower_case(label), Json());
}

}  // namespace

void add_models(Json& summary, const std::vector<CheckpointTable>& checkpoints) {
  Json models = Json::array();
  const int64_t context = published_models().at("context");
  for (const CheckpointTable& checkpoint : checkpoints) {
    const std::string& label = checkpoint.label;
    const CheckpointOrigin& origin = checkpoint.origin;
    Json model{{"label", label},
               {"architecture", origin.architecture.empty() ? Json() : Json(origin.architecture)},
               {"layers", known(origin.layers)},
               {"query_heads", known(origin.n_q_heads)},
               {"kv_heads", known(origin.n_kv_heads)},
               {"head_dim", known(origin.head_dim)},
               {"context", known(origin.context)},
               {"heads", summary.at("heads").at(label).at("measured")},
               {"position_dominated", summary.at("taxonomy").at(label).at("position-dominated")},
               {"bias_strength_above_0", positive_bias(checkpoint)}};
    for (const char* key : kMeans) {
      if (summary.contains(key)) model[key] = summary.at(key).at(label);
    }
    if (Json published = published_of(label); !published.is_null()) {
      published["context"] = context;
      model["published"] = std::move(published);
      summary["other_models"] = {
          {"about", published_models().at("about")},
          {"context", context},
          {"models", {{kAllPublished, published_models().at("models").at(kAllPublished)}}}};
    }
    models.push_back(std::move(model));
  }
  summary["models"] = std::move(models);
}

}  // namespace ropewalk
