#include "ropewalk/analysis/summary.h"

#include <cmath>

#include "ropewalk/analysis/depth.h"
#include "ropewalk/analysis/difference.h"
#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/resampling.h"
#include "ropewalk/analysis/statistics.h"
#include "ropewalk/analysis/student_t.h"
#include "ropewalk/analysis/taxonomy.h"
#include "ropewalk/base/interrupt.h"

namespace ropewalk {
namespace {

Json finite_or_null(double value) { return std::isnan(value) ? Json() : Json(value); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json leaf(double value, double se) {
  return {{"value", finite_or_null(value)}, {"se", finite_or_null(se)}};
}

// The keys of one group of heads, each {label: …}, added to `into`.
void add_group(Json& into, const CheckpointAnalysis& checkpoint, const HeadGroup& group) {
  for (const auto& [name, statistic] : smooth_statistics()) {
    const Estimate number = estimate(group, statistic);
    into[name][checkpoint.label] = leaf(number.value, number.se);
  }
  const ClassFractions fractions = class_fractions(group);
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    const double se =
        fractions.drawn.empty() ? std::nan("") : standard_deviation(fractions.drawn[i]);
    classes[std::string(class_name(kHeadClasses[i]))] = leaf(fractions.values[i], se);
  }
  into["taxonomy"][checkpoint.label] = classes;
  into["heads"][checkpoint.label] = {{"measured", group.heads.size()},
                                     {"undefined", group.undefined}};
}

// Mean of a quantity in each tenth of the depth; an empty cell is null.
void add_depth(Json& into, const CheckpointAnalysis& checkpoint) {
  for (const char* name : {"mean_r_q", "mean_r_k", "mean_abs_r_k"}) {
    const auto& all = smooth_statistics();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& s) { return s.first == name; });
    Json cells = Json::array();
    for (int bin = 0; bin < kDepthBins; ++bin) {
      const HeadGroup group = make_group(checkpoint, [&](const HeadAnalysis& head) {
        return depth_bin(head.layer, checkpoint.last_layer) == bin;
      });
      if (group.heads.empty()) {
        cells.push_back(Json());
        continue;
      }
      const Estimate number = estimate(group, found->second);
      Json cell = leaf(number.value, number.se);
      cell["heads"] = group.heads.size();
      cells.push_back(cell);
    }
    const std::string key = std::string("depth_") + (name + 5);  // after "mean_"
    into[key][checkpoint.label] = cells;
  }
}

Json describe(const CheckpointAnalysis& checkpoint, const HeadGroup& all) {
  const auto blocks = static_cast<double>(all.block_sizes.size());
  Json json{{"label", checkpoint.label},         {"phase", checkpoint.phase},
            {"order", checkpoint.order},         {"documents", checkpoint.documents.size()},
            {"heads", checkpoint.heads.size()},  {"blocks", all.block_sizes.size()},
            {"few_blocks", blocks < kFewBlocks}, {"random", checkpoint.random}};
  json["last_layer"] = checkpoint.last_layer;
  json["dtype"] = text_or_null(checkpoint.origin.dtype);
  json["device"] = text_or_null(checkpoint.origin.device);
  json["t95"] = blocks >= 2 ? Json(student_t_95(blocks - 1)) : Json();
  return json;
}

}  // namespace

Json summarize(const std::vector<CheckpointAnalysis>& checkpoints) {
  Json json{{"format", 1},
            {"thresholds", {{"high", kHighCorrelation}, {"low", kLowCorrelation}}},
            {"checkpoints", Json::array()},
            {"differences", Json::array()},
            {"rope", Json::object()},
            {"nope", Json::object()}};
  for (const CheckpointAnalysis& checkpoint : checkpoints) {
    throw_if_interrupted();
    const HeadGroup all = make_group(checkpoint, [](const HeadAnalysis&) { return true; });
    json["checkpoints"].push_back(describe(checkpoint, all));
    add_group(json, checkpoint, all);
    add_group(json["rope"], checkpoint,
              make_group(checkpoint, [](const HeadAnalysis& h) { return h.rope; }));
    add_group(json["nope"], checkpoint,
              make_group(checkpoint, [](const HeadAnalysis& h) { return !h.rope; }));
    add_depth(json, checkpoint);
  }
  const CheckpointAnalysis* before = nullptr;
  for (const CheckpointAnalysis& checkpoint : checkpoints) {
    if (checkpoint.random) continue;  // not a step of the run
    throw_if_interrupted();
    if (before != nullptr) json["differences"].push_back(compare_checkpoints(*before, checkpoint));
    before = &checkpoint;
  }
  return json;
}

HeadlineError headline_error(const CheckpointAnalysis& checkpoint) {
  const HeadGroup all = make_group(checkpoint, [](const HeadAnalysis&) { return true; });
  const auto& statistics = smooth_statistics();
  return {estimate(all, statistics[0].second).se, estimate(all, statistics[1].second).se};
}

}  // namespace ropewalk
