#include "ropewalk/study/show/compare_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/nearest.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/study/show/compare_contexts.h"
#include "ropewalk/study/show/compared_value.h"

namespace ropewalk {
namespace {

// A column of the comparison: a statistic averaged over heads, with its value for each model.
struct Column {
  std::string key;
  size_t view = 0;                       // index in all_views()
  std::map<std::string, double> models;  // by name
};

struct ReferenceModels {
  std::string about;
  int64_t context = 0;
  std::vector<std::string> names;
  std::vector<Column> columns;  // in the order of all_views()
};

std::string quoted(const std::string& key) { return "'" + printable_excerpt(key, 60) + "'"; }

[[noreturn]] void fail_unknown(const std::string& source, const std::string& where,
                               const std::string& key, const std::vector<std::string>& known) {
  const std::string near = nearest(key, {known.begin(), known.end()});
  throw InputError("{}: {}: unknown key {}{}", source, where, quoted(key),
                   near.empty() ? "" : fmt::format("; did you mean {}?", near));
}

void read_model(const std::string& name, const Json& means, const std::string& source,
                std::vector<Column>& columns) {
  const std::string where = "other_models, " + quoted(name);
  if (!means.is_object()) {
    throw InputError("{}: {} is {}; expected an object of means such as mean_abs_r_k_a", source,
                     where, kind_of(means));
  }
  for (const auto& [key, leaf] : means.items()) {
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [&key = key](const Column& one) { return one.key == key; });
    if (column == columns.end()) {
      std::vector<std::string> known;
      for (const Column& one : columns) known.push_back(one.key);
      fail_unknown(source, where, key, known);
    }
    column->models[name] = read_compared(leaf, source, fmt::format("{}, {}", where, key)).value;
  }
}

ReferenceModels read_models(const Json& section, const std::string& source) {
  const std::string expected = "expected an object with about, context and models";
  if (!section.is_object()) {
    throw InputError("{}: other_models is {}; {}", source, kind_of(section), expected);
  }
  for (const auto& [key, value] : section.items()) {
    const std::vector<std::string> known{"about", "context", "models"};
    if (std::find(known.begin(), known.end(), key) == known.end())
      fail_unknown(source, "other_models", key, known);
  }
  const Json about = section.value("about", Json("")), context = section.value("context", Json()),
             models = section.value("models", Json());
  if (!about.is_string()) {
    throw InputError("{}: other_models: about is {}; expected text", source, kind_of(about));
  }
  if (!context.is_number_integer() || context < 2 || context > kMostContext) {
    throw InputError("{}: other_models: context is {}; expected tokens per document, 2 to {}",
                     source, printable_excerpt(context.dump(), 60), kMostContext);
  }
  if (!models.is_object() || models.empty()) {
    throw InputError("{}: other_models: models is {}; expected an object of models by name", source,
                     models.is_object() ? "empty" : kind_of(models));
  }
  ReferenceModels others{about.get<std::string>(), context.get<int64_t>(), {}, {}};
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i].view->mean.empty()) others.columns.push_back({views[i].view->mean, i, {}});
  }
  for (const auto& [name, means] : models.items()) {
    if (name.find_first_not_of(" \t") == std::string::npos) {
      throw InputError("{}: other_models: models: a model has an empty name; give it one", source);
    }
    others.names.push_back(name);
    read_model(name, means, source, others.columns);
  }
  std::erase_if(others.columns, [](const Column& column) { return column.models.empty(); });
  return others;
}

struct Row {
  std::string name;
  int64_t context = 0;          // 0: unknown
  std::vector<double> numbers;  // one per column
};

}  // namespace

std::string compare_with_models(const RunNumbers& run, const Json& section,
                                const std::string& source) {
  const ReferenceModels others = read_models(section, source);
  std::vector<Row> rows;
  for (const std::string& name : others.names) {
    Row& row =
        rows.emplace_back(Row{printable_excerpt(name, kLongestComparedLabel), others.context, {}});
    for (const Column& column : others.columns) {
      const auto found = column.models.find(name);
      row.numbers.push_back(found == column.models.end() ? std::nan("") : found->second);
    }
  }
  const size_t models = rows.size();
  bool common = false;
  for (const auto* group : {&run.baselines, &run.checkpoints}) {
    for (const CheckpointNumbers& numbers : *group) {
      Row& row = rows.emplace_back(
          Row{printable_excerpt(numbers.label, kLongestComparedLabel), numbers.context, {}});
      for (const Column& column : others.columns) {
        row.numbers.push_back(numbers.views[column.view].over_heads.mean);
        common = common || !std::isnan(row.numbers.back());
      }
    }
  }
  if (!common) return "";
  size_t width = 0;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  constexpr int kContextWidth = 12;
  std::string text = fmt::format("other models, at a context of {} tokens\n  {:<{}}{:>{}}",
                                 others.context, "", width, "context", kContextWidth);
  std::vector<int> decimals;
  for (size_t i = 0; i < others.columns.size(); ++i) {
    text += fmt::format("  {:>10}", others.columns[i].key);
    std::vector<double> stated;
    for (size_t row = 0; row < models; ++row) stated.push_back(rows[row].numbers[i]);
    decimals.push_back(decimals_for(stated));
  }
  text += "\n";
  for (size_t row = 0; row < rows.size(); ++row) {
    if (row == models) text += "  this run\n";
    text += fmt::format("  {:<{}}", rows[row].name, width);
    text += context_cell(rows[row].context, kContextWidth);
    for (size_t i = 0; i < others.columns.size(); ++i) {
      const int size = static_cast<int>(std::max<size_t>(10, others.columns[i].key.size()));
      text += number_cell(rows[row].numbers[i], decimals[i], size + 2);
    }
    text += "\n";
  }
  if (!others.about.empty()) text += "  " + printable(others.about) + "\n";
  return text + "\n";
}

}  // namespace ropewalk
