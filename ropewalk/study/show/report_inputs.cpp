#include "ropewalk/study/show/report_inputs.h"

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

// A value of a file with its place in it, such as "differences[2].from".
class Value {
 public:
  Value(const Json& json, std::string source, std::string key)
      : json_(&json), source_(std::move(source)), key_(std::move(key)) {}

  // Whether the key is there; null counts as absent where it is not required.
  bool has(const std::string& name) const {
    const auto found = json_->find(name);
    return found != json_->end() && !found->is_null();
  }
  Value at(const std::string& name) const {
    const auto found = json_->find(name);
    const std::string key = key_.empty() ? name : key_ + "." + name;
    if (found == json_->end()) {
      throw InputError("{}: key '{}' is missing; expected what ropewalk writes", source_,
                       printable_excerpt(key, 200));
    }
    return {*found, source_, key};
  }

  void object() const { require(json_->is_object(), "an object"); }
  void text() const { require(json_->is_string(), "a text"); }
  void truth() const { require(json_->is_boolean(), "true or false"); }
  void number() const { require(json_->is_number(), "a number"); }
  void number_or_null() const {
    require(json_->is_number() || json_->is_null(), "a number or null");
  }
  void is(int64_t value) const { require(*json_ == value, fmt::format("{}", value)); }
  void pair() const { require(json_->is_array() && json_->size() == 2, "a list of two"); }
  // {"value": …, "se": …}
  void leaf() const {
    object();
    at("value").number_or_null();
    if (has("se")) at("se").number();
  }
  template <typename Check>
  void each(const Check& check) const {
    require(json_->is_array(), "a list");
    for (size_t i = 0; i < json_->size(); ++i) {
      check(Value((*json_)[i], source_, fmt::format("{}[{}]", key_, i)));
    }
  }
  template <typename Check>
  void each_member(const Check& check) const {
    object();
    for (const auto& [name, member] : json_->items()) {
      check(Value(member, source_, key_ + "." + name));
    }
  }
  bool is_null() const { return json_->is_null(); }

 private:
  void require(bool fits, const std::string& expected) const {
    if (fits) return;
    throw InputError(
        "{}: {} is {}; expected {}", source_,
        key_.empty() ? "the file" : fmt::format("key '{}'", printable_excerpt(key_, 200)),
        printable_excerpt(json_->dump(), 60), expected);
  }

  const Json* json_;
  std::string source_;
  std::string key_;
};

// Keys of means and spreads, of means by depth, and of lists of heads.
struct SummaryKeys {
  std::vector<std::string> leaves, depth, heads;
};

SummaryKeys summary_keys() {
  SummaryKeys keys;
  for (const PlacedReading& placed : all_readings()) {
    for (const std::string& key : {placed.reading->mean, placed.reading->spread}) {
      if (!key.empty()) keys.leaves.push_back(key);
    }
    if (!placed.reading->depth.empty()) keys.depth.push_back(placed.reading->depth);
  }
  for (const Statistic* statistic : statistics()) {
    if (statistic->list_changes) keys.heads.push_back("heads_" + statistic->key);
  }
  return keys;
}

void check_difference(const Value& difference, const SummaryKeys& keys) {
  difference.object();
  difference.at("from").text();
  difference.at("to").text();
  for (const std::string& name : keys.leaves) {
    if (!difference.has(name)) continue;
    const Value leaf = difference.at(name);
    leaf.leaf();
    if (!leaf.has("stayed")) continue;
    leaf.at("heads").number();
    leaf.at("stayed").leaf();
    leaf.at("stayed").at("heads").number();
  }
  if (difference.has("loss")) difference.at("loss").leaf();
  if (difference.has("taxonomy")) {
    difference.at("taxonomy").each_member([](const Value& share) { share.leaf(); });
  }
  for (const std::string& name : keys.heads) {
    if (!difference.has(name)) continue;
    difference.at(name).each([](const Value& head) {
      head.object();
      for (const char* key : {"layer", "q_head", "value", "se"}) head.at(key).number();
    });
  }
}

}  // namespace

void check_summary(const Json& summary, const std::string& source) {
  const SummaryKeys keys = summary_keys();
  const Value top(summary, source, "");
  top.object();
  top.at("checkpoints").each([](const Value& checkpoint) {
    checkpoint.object();
    checkpoint.at("label").text();
    for (const char* key : {"documents", "blocks", "context", "last_layer", "t95"}) {
      if (checkpoint.has(key)) checkpoint.at(key).number();
    }
  });
  if (top.has("thresholds")) {
    top.at("thresholds").object();
    top.at("thresholds").at("high").number();
    top.at("thresholds").at("low").number();
  }
  if (top.has("changed")) {
    top.at("changed").object();
    top.at("changed").at("min_change").number();
    top.at("changed").at("max_q").number();
  }
  for (const std::string& name : keys.leaves) {
    if (top.has(name)) top.at(name).each_member([](const Value& leaf) { leaf.leaf(); });
  }
  if (top.has("loss")) top.at("loss").each_member([](const Value& leaf) { leaf.leaf(); });
  if (top.has("taxonomy")) {
    top.at("taxonomy").each_member([](const Value& classes) {
      classes.each_member([](const Value& share) { share.leaf(); });
    });
  }
  for (const std::string& name : keys.depth) {
    if (!top.has(name)) continue;
    top.at(name).each_member([](const Value& cells) {
      cells.each([](const Value& cell) {
        if (!cell.is_null()) cell.leaf();
      });
    });
  }
  if (top.has("top_heads")) {
    top.at("top_heads").each([](const Value& head) {
      head.object();
      for (const char* key : {"layer", "q_head", "score"}) head.at(key).number();
      head.at("q_heads").each([](const Value& one) { one.number(); });
      for (const char* key : {"statistic", "from", "to", "sentence"}) head.at(key).text();
      for (const char* key : {"before", "after", "change", "se", "effect", "effect_se"}) {
        head.at(key).number_or_null();
      }
      for (const char* key : {"changed", "axis_changed"}) head.at(key).truth();
    });
  }
  if (top.has("differences")) {
    top.at("differences").each([&](const Value& difference) {
      check_difference(difference, keys);
    });
  }
}

void check_manifest(const Json& manifest, const std::string& source) {
  const Value top(manifest, source, "");
  top.object();
  top.at("format").is(1);
  for (const char* key : {"name", "ropewalk"}) top.at(key).text();
  for (const char* key : {"experiment", "corpus", "settings"}) top.at(key).object();
  top.at("experiment").at("text").text();
  top.at("checkpoints").each([](const Value& capture) {
    capture.object();
    capture.at("label").text();
  });
  const Value settings = top.at("settings");
  if (settings.has("axis")) settings.at("axis").text();
  if (settings.has("portraits")) {
    settings.at("portraits").each([](const Value& label) { label.text(); });
  }
  if (!settings.has("figures")) return;
  const Value figures = settings.at("figures");
  figures.object();
  figures.at("statistics").each([](const Value& key) { key.text(); });
  if (figures.has("distance")) {
    figures.at("distance").each([](const Value& head) { head.text(); });
  }
  figures.at("portraits").each([](const Value& pair) {
    pair.pair();
    pair.each([](const Value& key) { key.text(); });
  });
}

Json read_summary(const std::filesystem::path& path) {
  Json summary = read_json_file(path);
  check_summary(summary, path.string());
  return summary;
}

}  // namespace ropewalk
