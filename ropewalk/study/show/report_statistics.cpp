#include <cmath>
#include <limits>

#include "ropewalk/analysis/run/head_flags.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/roles.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/study/show/report_table.h"

namespace ropewalk {
namespace {

Json describe(const StatisticView& view) {
  return {{"key", view.key},           {"name", view.name},       {"absolute", view.absolute},
          {"hue", hue_name(view.hue)}, {"low", view.low},         {"high", view.high},
          {"change", view.change},     {"mean", view.mean},       {"mean_name", view.mean_name},
          {"hint", view.hint},         {"shape", view.line.shape}};
}

}  // namespace

const char* hue_name(Hue hue) {
  return hue == Hue::queries ? "queries" : hue == Hue::keys ? "keys" : "both";
}

Json limit_or_null(double value) {
  return std::abs(value) < std::numeric_limits<double>::max() ? Json(value) : Json();
}

Json report_statistics() {
  Json list = Json::array();
  for (const Statistic* statistic : statistics()) {
    Json views = Json::array();
    for (const StatisticView& view : statistic->views) views.push_back(describe(view));
    list.push_back({{"key", statistic->key},
                    {"title", statistic->title},
                    {"definition", statistic->definition},
                    {"scale", statistic->scale.name()},
                    {"floor", statistic->scale.floor()},
                    {"step", statistic->step},
                    {"per", statistic->per == Granularity::head ? "head" : "component"},
                    {"table", statistic->table == Table::heads ? "heads" : "components"},
                    {"group", statistic_group(*statistic)},
                    {"low", limit_or_null(statistic->low)},
                    {"high", limit_or_null(statistic->high)},
                    {"on_pc0", statistic->sign == Sign::run || !statistic->carried.empty()},
                    {"carried", statistic->carried.empty() ? Json() : Json(statistic->carried)},
                    {"per_token", statistic->unit != Unit::one},
                    {"error", statistic->error ? Json(error_column(statistic->key)) : Json()},
                    {"shares", statistic->shares},
                    {"changes", statistic->list_changes},
                    {"readings", views}});
  }
  return list;
}

Json report_flags() {
  Json meanings = Json::object();
  for (const auto& [name, meaning] : head_flag_meanings()) meanings[name] = meaning;
  return meanings;
}

Json report_roles() {
  Json list = Json::array();
  for (const Role& role : kRoles) {
    list.push_back({{"key", role.key},
                    {"name", role.name},
                    {"score", role.score},
                    {"threshold", role.threshold},
                    {"errors", kRoleErrors}});
  }
  return list;
}

}  // namespace ropewalk
