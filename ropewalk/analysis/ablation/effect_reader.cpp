#include "ropewalk/analysis/ablation/effect_reader.h"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "ropewalk/analysis/ablation/effect_table.h"
#include "ropewalk/analysis/ablation/set_name.h"
#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kNeeded = "checkpoint, set, edit, dloss";
constexpr const char* kNeededOfSets = "checkpoint, set, draw, members";
constexpr double kMost = std::numeric_limits<double>::max();

// Reads "3.0,3.1" as [[layer, query head], …].
Json heads_of(const CsvRecord& record, size_t column) {
  Json heads = Json::array();
  try {
    for (const QueryHead& head : parse_set_name(record.text(column)).heads)
      heads.push_back({head.layer, head.q_head});
  } catch (const UsageError&) {
    heads.clear();
  }
  if (heads.empty()) record.fail(column, "heads such as 3.0,3.1");
  return heads;
}

using SetKey = std::pair<std::string, std::string>;  // checkpoint, set

std::map<SetKey, Json> read_sets(const fs::path& path) {
  std::map<SetKey, Json> sets;
  const MappedFile file(path);
  CsvTable records(file.text(), path.string());
  const auto column = [&](const char* name) {
    return records.header().require(name, "", kNeededOfSets);
  };
  while (const auto record = records.next()) {
    const size_t members = column("members");
    constexpr int64_t kSetItself = -1;
    if (record->count(column("draw"), kSetItself) != kSetItself) continue;
    sets[{record->name(column("checkpoint")), record->name(column("set"))}] =
        heads_of(*record, members);
  }
  return sets;
}

}  // namespace

Json read_effects(const fs::path& folder) {
  if (!fs::exists(folder / kAblateTable) || !fs::exists(folder / kAblateControls)) return nullptr;
  const std::map<SetKey, Json> sets = read_sets(folder / kAblateControls);
  Json effects = Json::array();
  const fs::path path = folder / kAblateTable;
  const MappedFile file(path);
  CsvTable records(file.text(), path.string());
  const auto column = [&](const char* name) { return records.header().require(name, "", kNeeded); };
  while (const auto record = records.next()) {
    const auto number = [&](const char* name) {
      const auto found = records.header().find(name);
      return found ? number_or_null(record->number(*found, -kMost, kMost)) : Json();
    };
    const SetKey key{record->name(column("checkpoint")), record->name(column("set"))};
    const auto heads = sets.find(key);
    if (heads == sets.end()) {
      record->fail(column("set"), std::string("a set of ") + kAblateControls);
    }
    effects.push_back({{"checkpoint", key.first},
                       {"set", key.second},
                       {"edit", record->name(column("edit"))},
                       {"heads", heads->second},
                       {"dloss", number_or_null(record->number(column("dloss"), -kMost, kMost))},
                       {"se", number("dloss_se")},
                       {"control", number("control")}});
  }
  return effects;
}

}  // namespace ropewalk
