#include "ropewalk/analysis/run/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/run/difference.h"
#include "ropewalk/analysis/run/group_numbers.h"
#include "ropewalk/analysis/run/model_summary.h"
#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/analysis/run/series_summary.h"
#include "ropewalk/analysis/run/sign_turns.h"
#include "ropewalk/analysis/run/top_heads.h"
#include "ropewalk/analysis/table/role_table.h"
#include "ropewalk/analysis/table/roles.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json count_or_null(int64_t count) {
  return count == CheckpointTable::kUnknown ? Json() : Json(count);
}

Json leaf(double value, double se) {
  return {{"value", number_or_null(value)}, {"se", number_or_null(se)}};
}

// Adds the keys of one group of heads to `into`, each as {label: …}.
void add_group(Json& into, const std::string& label, const GroupNumbers& numbers) {
  const auto add = [&](const std::string& key, size_t view, Aggregate what) {
    if (key.empty()) return;
    const Estimate& number = numbers.of(view, what);
    into[key][label] = leaf(number.value, number.se);
  };
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    add(views[i].view->mean, i, Aggregate::mean);
    add(views[i].view->spread, i, Aggregate::spread);
  }
  const ClassShares& shares = numbers.classes();
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
  const HeadGroup& group = numbers.group();
  into["taxonomy"][label] = classes;
  into["heads"][label] = {{"measured", group.rows.size()},
                          {"undefined", group.undefined},
                          {"sign_uncertain", uncertain_signs(group).size()}};
}

// Means in each tenth of the depth; a tenth without heads is null.
void add_depth(Json& into, const CheckpointTable& checkpoint) {
  for (int bin = 0; bin < kDepthBins; ++bin) {
    const HeadGroup group = depth_group(checkpoint, bin, checkpoint.last_layer);
    for (const IndexedView& view : all_views()) {
      if (view.view->depth.empty()) continue;
      Json cell;
      if (!group.rows.empty()) {
        const Estimate number = estimate(group, view, Aggregate::mean);
        cell = leaf(number.value, number.se);
        cell["heads"] = group.rows.size();
      }
      into[view.view->depth][checkpoint.label].push_back(cell);
    }
  }
}

// Means by rotary pair and by distance, where the table has them.
void add_series(Json& json, const CheckpointTable& checkpoint) {
  const auto add = [&](Json& into, const char* key, Json&& means) {
    if (!means.is_null()) into[key][checkpoint.label] = std::move(means);
  };
  add(json, "bands", summarize_bands(checkpoint));
  add(json, "curves", summarize_curves(checkpoint, SeriesMean::kAll));
  add(json["rope"], "curves", summarize_curves(checkpoint, 1));
  add(json["nope"], "curves", summarize_curves(checkpoint, 0));
}

Json describe(const CheckpointTable& checkpoint, const HeadGroup& all) {
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
  if (!checkpoint.origin.backend.empty()) json["backend"] = checkpoint.origin.backend;
  json["t95"] = blocks >= 2 ? Json(student_t_95(blocks - 1)) : Json();
  return json;
}

// One checkpoint: its description, and its numbers under the summary's keys.
Json summarize(const CheckpointTable& checkpoint, const GroupNumbers& all) {
  Json numbers = Json::object();
  add_group(numbers, checkpoint.label, all);
  for (const auto& [key, rope] : {std::pair("rope", 1), std::pair("nope", 0)}) {
    const auto of_kind = [&, rope = rope](size_t row) { return checkpoint.rope[row] == rope; };
    add_group(numbers[key], checkpoint.label, GroupNumbers(make_group(checkpoint, of_kind)));
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
  return {{"checkpoint", describe(checkpoint, all.group())}, {"numbers", std::move(numbers)}};
}

Json describe(const RoleAssociation& one, const std::string& label) {
  Json json{{"checkpoint", label},      {"kind", one.kind},   {"name", one.name},
            {"role", one.role},         {"heads", one.heads}, {"value", one.value},
            {"expected", one.expected}, {"p", one.p},         {"q", one.q}};
  if (one.kind != kClassKind) return json;
  json.update({{"in_class", one.in_class}, {"in_role", one.in_role}, {"both", one.both}});
  return json;
}

// Thresholds; by label, how many heads have each role; and what goes with roles at the last
// checkpoint, or in each model.
Json summarize_roles(const std::vector<CheckpointTable>& checkpoints,
                     const std::vector<RoleAssociation>& associations, const RunOrder& order) {
  Json json{{"errors", kRoleErrors}, {"associations", Json::array()}};
  for (const Role& role : kRoles) json["thresholds"][role.key] = role.threshold;
  for (const CheckpointTable& checkpoint : checkpoints) {
    for (const Role& role : kRoles) {
      const RoleNumbers count = role_numbers(role, checkpoint);
      if (count.of == 0) continue;
      json["heads"][checkpoint.label][role.key] = {
          {"heads", count.heads}, {"of", count.of}, {"top", number_or_null(count.top)}};
    }
  }
  for (const RoleAssociation& one : associations) {
    const CheckpointTable& checkpoint = checkpoints[one.checkpoint];
    const bool shown = checkpoint.independent_model || order.last() == one.checkpoint;
    if (shown && one.q <= kDiscoveryRate) {
      json["associations"].push_back(describe(one, checkpoint.label));
    }
  }
  return json;
}

// The results of comparing two checkpoints.
struct ReportedComparison {
  std::string rows;                                // of changes.csv
  Json difference;                                 // null: the summary has no entry for it
  std::unique_ptr<CheckpointComparison> of_heads;  // kept where heads are ranked by it
};

// Whether the summary has an entry for it. Where the whole run is a single step, the entry of that
// step is enough.
bool has_entry(const ComparedCheckpoints& compared, const RunOrder& order) {
  using Kind = ComparedCheckpoints::Kind;
  if (compared.kind == Kind::whole) return order.step_from(compared.to) != compared.from.front();
  return compared.kind == Kind::step || compared.kind == Kind::context;
}

ReportedComparison tell(const ComparedCheckpoints& compared,
                        const std::vector<CheckpointTable>& checkpoints,
                        const std::vector<std::optional<GroupNumbers>>& numbers, double min_change,
                        const RunOrder& order) {
  using Kind = ComparedCheckpoints::Kind;
  std::vector<const CheckpointTable*> from;
  for (const size_t i : compared.from) from.push_back(&checkpoints[i]);
  auto comparison =
      std::make_unique<CheckpointComparison>(std::move(from), checkpoints[compared.to], min_change);
  ReportedComparison told;
  told.rows = format_changes(compared.kind, *comparison);
  if (has_entry(compared, order)) {
    told.difference =
        compare_checkpoints(*comparison, *numbers[compared.from.front()], *numbers[compared.to]);
    if (compared.kind == Kind::context) told.difference["kind"] = "context";
  }
  const bool ranked = compared.kind == Kind::whole || compared.kind == Kind::baseline;
  if (ranked && compared.to == order.last()) told.of_heads = std::move(comparison);
  return told;
}

}  // namespace

RunSummary summarize(const std::vector<CheckpointTable>& checkpoints,
                     const ChangeOptions& options) {
  Json json{{"format", 1},
            {"thresholds", {{"high", kHighCorrelation}, {"low", kLowCorrelation}}},
            {"changed", {{"min_change", options.min_change}, {"max_q", kDiscoveryRate}}},
            {"checkpoints", Json::array()},
            {"differences", Json::array()},
            {"rope", Json::object()},
            {"nope", Json::object()}};
  const std::vector<ComparedCheckpoints> compared = compared_checkpoints(checkpoints, options);
  // First the checkpoints, each under its own label; then what changed between them.
  std::vector<std::optional<GroupNumbers>> numbers(checkpoints.size());
  std::vector<Json> parts(checkpoints.size());
  run_parallel(parts.size(), [&](size_t i) {
    throw_if_interrupted();
    numbers[i].emplace(whole_group(checkpoints[i]));
    parts[i] = summarize(checkpoints[i], *numbers[i]);
  });
  std::vector<ReportedComparison> told(compared.size());
  const RunOrder order(checkpoints);
  run_parallel(told.size(), [&](size_t i) {
    throw_if_interrupted();
    told[i] = tell(compared[i], checkpoints, numbers, options.min_change, order);
  });
  for (const Json& part : parts) {
    json["checkpoints"].push_back(part.at("checkpoint"));
    json.update(part.at("numbers"), /*merge_objects=*/true);
  }
  const bool models = std::any_of(checkpoints.begin(), checkpoints.end(),
                                  [](const CheckpointTable& one) { return one.independent_model; });
  if (models) add_models(json, checkpoints);
  RunSummary made{{}, changes_header(), {}};
  const CheckpointComparison *baseline = nullptr, *whole = nullptr;
  for (size_t i = 0; i < told.size(); ++i) {
    made.changes += told[i].rows;
    if (!told[i].difference.is_null()) {
      if (compared[i].kind == ComparedCheckpoints::Kind::whole) {
        json["whole_run"] = std::move(told[i].difference);
      } else {
        json["differences"].push_back(std::move(told[i].difference));
      }
    }
    if (!told[i].of_heads) continue;
    (compared[i].kind == ComparedCheckpoints::Kind::whole ? whole : baseline) =
        told[i].of_heads.get();
  }
  const std::vector<RoleAssociation> associations = role_associations(checkpoints);
  if (!associations.empty()) {
    json["roles"] = summarize_roles(checkpoints, associations, order);
    made.roles = format_role_table(checkpoints, associations);
  }
  if (Json heads = top_heads(baseline, whole); !heads.is_null()) {
    json["top_heads"] = std::move(heads);
  }
  made.summary = std::move(json);
  return made;
}

}  // namespace ropewalk
