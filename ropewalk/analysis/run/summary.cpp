#include "ropewalk/analysis/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/run/difference.h"
#include "ropewalk/analysis/run/head_changes.h"
#include "ropewalk/analysis/run/model_summary.h"
#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/analysis/run/series_summary.h"
#include "ropewalk/analysis/run/sign_turns.h"
#include "ropewalk/analysis/run/top_heads.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

Json finite_or_null(double value) { return std::isnan(value) ? Json() : Json(value); }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json count_or_null(int64_t count) {
  return count == CheckpointAnalysis::kUnknown ? Json() : Json(count);
}

Json leaf(double value, double se) {
  return {{"value", finite_or_null(value)}, {"se", finite_or_null(se)}};
}

// The keys of one group of heads, each {label: …}, added to `into`.
void add_group(Json& into, const CheckpointAnalysis& checkpoint, const HeadGroup& group) {
  const auto add = [&](const std::string& key, const PlacedReading& reading, Over what) {
    if (key.empty()) return;
    const Estimate number = estimate(group, reading, what);
    into[key][checkpoint.label] = leaf(number.value, number.se);
  };
  for (const PlacedReading& reading : all_readings()) {
    add(reading.reading->mean, reading, Over::mean);
    add(reading.reading->spread, reading, Over::spread);
  }
  const ClassShares shares = class_shares(group);
  Json classes = Json::object();
  for (size_t i = 0; i < kHeadClasses.size(); ++i) {
    Json& share = classes[std::string(class_name(kHeadClasses[i]))];
    share = leaf(shares.values[i], shares.se(i));
    if (!shares.without_spread(i)) continue;
    const ShareInterval interval = shares.interval(i);
    share["se"] = Json();
    share["low"] = interval.low;
    share["high"] = interval.high;
  }
  into["taxonomy"][checkpoint.label] = classes;
  into["heads"][checkpoint.label] = {{"measured", group.rows.size()},
                                     {"undefined", group.undefined},
                                     {"sign_uncertain", uncertain_signs(group).size()}};
}

// Means in each tenth of the depth; an empty cell is null.
void add_depth(Json& into, const CheckpointAnalysis& checkpoint) {
  for (int bin = 0; bin < kDepthBins; ++bin) {
    const HeadGroup group = depth_group(checkpoint, bin, checkpoint.last_layer);
    for (const PlacedReading& reading : all_readings()) {
      if (reading.reading->depth.empty()) continue;
      Json cell;
      if (!group.rows.empty()) {
        const Estimate number = estimate(group, reading, Over::mean);
        cell = leaf(number.value, number.se);
        cell["heads"] = group.rows.size();
      }
      into[reading.reading->depth][checkpoint.label].push_back(cell);
    }
  }
}

// Means by rotary pair and by distance, where there are any.
void add_series(Json& json, const CheckpointAnalysis& checkpoint) {
  const auto add = [&](Json& into, const char* key, Json&& means) {
    if (!means.is_null()) into[key][checkpoint.label] = std::move(means);
  };
  add(json, "bands", summarize_bands(checkpoint));
  add(json, "curves", summarize_curves(checkpoint, SeriesMean::kAll));
  add(json["rope"], "curves", summarize_curves(checkpoint, 1));
  add(json["nope"], "curves", summarize_curves(checkpoint, 0));
}

Json describe(const CheckpointAnalysis& checkpoint, const HeadGroup& all) {
  const auto blocks = static_cast<double>(all.block_sizes.size());
  Json json{{"label", checkpoint.label},
            {"phase", checkpoint.phase},
            {"order", checkpoint.order},
            {"step", count_or_null(checkpoint.step)},
            {"tokens", count_or_null(checkpoint.tokens)},
            {"documents", checkpoint.documents.size()},
            {"heads", checkpoint.head_rows().size()},
            {"blocks", all.block_sizes.size()},
            {"few_blocks", blocks < kFewBlocks},
            {"random", checkpoint.random}};
  json["last_layer"] = checkpoint.last_layer;
  const int64_t context = checkpoint.origin.context;
  json["context"] = context > 0 ? Json(context) : Json();
  json["dtype"] = text_or_null(checkpoint.origin.dtype);
  json["device"] = text_or_null(checkpoint.origin.device);
  json["t95"] = blocks >= 2 ? Json(student_t_95(blocks - 1)) : Json();
  return json;
}

// One checkpoint: how it is described, and its numbers under the summary's keys.
Json summarize(const CheckpointAnalysis& checkpoint) {
  const HeadGroup all = whole_group(checkpoint);
  Json numbers = Json::object();
  add_group(numbers, checkpoint, all);
  for (const auto& [key, rope] : {std::pair("rope", 1), std::pair("nope", 0)}) {
    add_group(numbers[key], checkpoint, make_group(checkpoint, [&, rope = rope](size_t row) {
                return checkpoint.rope[row] == rope;
              }));
  }
  add_depth(numbers, checkpoint);
  if (!checkpoint.loss.empty()) {
    const LossRow& loss = checkpoint.loss.front();
    Json& stated = numbers["loss"][checkpoint.label];
    stated = leaf(loss.loss, loss.se);
    stated["documents"] = loss.documents;
    stated["tokens"] = loss.tokens;
  }
  add_series(numbers, checkpoint);
  return {{"checkpoint", describe(checkpoint, all)}, {"numbers", std::move(numbers)}};
}

// Two checkpoints whose change is told.
struct Compared {
  size_t from = 0;
  size_t to = 0;
  bool contexts = false;  // one checkpoint at two contexts
};

std::vector<Compared> compared_in(const RunOrder& order, size_t checkpoints) {
  std::vector<Compared> all;
  for (size_t i = 0; i < checkpoints; ++i) {
    if (const auto from = order.step_from(i)) all.push_back({*from, i, false});
    if (const auto from = order.context_from(i)) all.push_back({*from, i, true});
  }
  return all;
}

}  // namespace

Json summarize(const std::vector<CheckpointAnalysis>& checkpoints, double min_change) {
  Json json{{"format", 1},
            {"thresholds", {{"high", kHighCorrelation}, {"low", kLowCorrelation}}},
            {"changed", {{"min_change", min_change}, {"max_q", kDiscoveryRate}}},
            {"checkpoints", Json::array()},
            {"differences", Json::array()},
            {"rope", Json::object()},
            {"nope", Json::object()}};
  // Checkpoints side by side, each in its own labels; then what changed between them.
  std::vector<Json> parts(checkpoints.size());
  const RunOrder order(checkpoints);
  const std::vector<Compared> comparisons = compared_in(order, checkpoints.size());
  std::vector<Json> differences(comparisons.size());
  run_parallel(parts.size() + differences.size(), [&](size_t i) {
    throw_if_interrupted();
    if (i < parts.size()) {
      parts[i] = summarize(checkpoints[i]);
      return;
    }
    const Compared& one = comparisons[i - parts.size()];
    Json& difference = differences[i - parts.size()];
    difference = compare_checkpoints(checkpoints[one.from], checkpoints[one.to], min_change);
    if (one.contexts) difference["kind"] = "context";
  });
  for (const Json& part : parts) {
    json["checkpoints"].push_back(part.at("checkpoint"));
    json.update(part.at("numbers"), /*merge_objects=*/true);
  }
  const bool models = std::any_of(checkpoints.begin(), checkpoints.end(),
                                  [](const CheckpointAnalysis& one) { return one.beside; });
  if (models) add_models(json, checkpoints);
  if (Json heads = top_heads(checkpoints, min_change); !heads.is_null()) {
    json["top_heads"] = std::move(heads);
  }
  for (Json& difference : differences) json["differences"].push_back(std::move(difference));
  return json;
}

}  // namespace ropewalk
