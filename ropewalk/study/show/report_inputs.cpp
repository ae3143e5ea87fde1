#include "ropewalk/study/show/report_inputs.h"

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {
namespace {

// The keys for means and spreads, for means by depth, and for lists of heads.
struct SummaryKeys {
  std::vector<std::string> leaves, depth, heads;
};

SummaryKeys summary_keys() {
  SummaryKeys keys;
  for (const IndexedView& indexed : all_views()) {
    for (const std::string& key : {indexed.view->mean, indexed.view->spread}) {
      if (!key.empty()) keys.leaves.push_back(key);
    }
    if (!indexed.view->depth.empty()) keys.depth.push_back(indexed.view->depth);
  }
  for (const Statistic* statistic : statistics()) {
    if (statistic->list_changes) keys.heads.push_back("heads_" + statistic->key);
  }
  return keys;
}

// {"value": …, "se": …}
void check_leaf(const JsonReader& leaf) {
  if (!leaf.json().contains("value")) leaf.number("value");  // throws about the missing key
  leaf.optional_number("value");
  leaf.optional_number("se");
}

void check_leaves(const JsonReader& file, const std::string& key) {
  if (!file.has(key)) return;
  for (const JsonReader& leaf : file.members(key)) check_leaf(leaf);
}

void check_difference(const JsonReader& difference, const SummaryKeys& keys) {
  difference.text("from");
  difference.text("to");
  for (const std::string& name : keys.leaves) {
    if (!difference.has(name)) continue;
    const JsonReader leaf = difference.object(name);
    check_leaf(leaf);
    if (!leaf.has("stayed")) continue;
    leaf.number("heads");
    check_leaf(leaf.object("stayed"));
    leaf.object("stayed").number("heads");
  }
  if (difference.has("loss")) check_leaf(difference.object("loss"));
  check_leaves(difference, "taxonomy");
  for (const std::string& name : keys.heads) {
    if (!difference.has(name)) continue;
    for (const JsonReader& head : difference.objects(name)) {
      for (const char* key : {"layer", "q_head", "value", "se"}) head.number(key);
    }
  }
}

void check_top_head(const JsonReader& head) {
  for (const char* key : {"layer", "q_head", "score"}) head.number(key);
  head.integers("q_heads");
  for (const char* key : {"statistic", "from", "to", "sentence"}) head.text(key);
  for (const char* key : {"before", "after", "change", "se", "effect", "effect_se"}) {
    head.optional_number(key);
  }
  for (const char* key : {"changed", "axis_changed"}) head.flag(key);
}

}  // namespace

void check_summary(const Json& summary, const std::string& source) {
  const SummaryKeys keys = summary_keys();
  const JsonReader top = JsonReader::of(summary, source);
  for (const JsonReader& checkpoint : top.objects("checkpoints")) {
    checkpoint.text("label");
    for (const char* key : {"documents", "blocks", "context", "last_layer", "t95"}) {
      checkpoint.optional_number(key);
    }
  }
  if (top.has("thresholds")) {
    for (const char* key : {"high", "low"}) top.object("thresholds").number(key);
  }
  if (top.has("changed")) {
    for (const char* key : {"min_change", "max_q"}) top.object("changed").number(key);
  }
  for (const std::string& name : keys.leaves) check_leaves(top, name);
  check_leaves(top, "loss");
  if (top.has("taxonomy")) {
    const JsonReader classes = top.object("taxonomy");
    for (const auto& [label, shares] : classes.json().items()) check_leaves(classes, label);
  }
  for (const std::string& name : keys.depth) {
    if (!top.has(name)) continue;
    const JsonReader cells = top.object(name);
    for (const auto& [label, list] : cells.json().items()) {
      for (const JsonReader& cell : cells.objects(label, true)) check_leaf(cell);
    }
  }
  if (top.has("top_heads")) {
    for (const JsonReader& head : top.objects("top_heads")) check_top_head(head);
  }
  if (top.has("whole_run")) check_difference(top.object("whole_run"), keys);
  if (top.has("differences")) {
    for (const JsonReader& one : top.objects("differences")) check_difference(one, keys);
  }
}

void check_manifest(const Json& manifest, const std::string& source) {
  const JsonReader top = JsonReader::of(manifest, source);
  if (top.number("format") != 1) top.refuse("format", "1");
  for (const char* key : {"name", "ropewalk"}) top.text(key);
  top.object("experiment").text("text");
  top.object("corpus");
  for (const JsonReader& capture : top.objects("checkpoints")) capture.text("label");
  const JsonReader settings = top.object("settings");
  settings.text("axis", "");
  if (settings.has("portraits")) settings.texts("portraits");
  if (!settings.has("figures")) return;
  const JsonReader figures = settings.object("figures");
  figures.texts("statistics");
  if (figures.has("distance")) figures.texts("distance");
  figures.pairs("portraits");
}

Json read_summary(const std::filesystem::path& path) {
  Json summary = read_json_file(path);
  check_summary(summary, path.string());
  return summary;
}

}  // namespace ropewalk
