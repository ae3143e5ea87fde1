#include "ropewalk/analysis/table/table_columns.h"

#include <fmt/format.h>

#include <cmath>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/taxonomy.h"

namespace ropewalk {
namespace {

using Checkpoint = CheckpointTable;

TableColumn name(const char* column, const char* meaning, std::string Checkpoint::*member) {
  return {column, meaning,
          [member](const Checkpoint& c, size_t) { return escape_name(c.*member); }};
}

TableColumn count(const char* column, const char* meaning,
                  std::vector<int64_t> Checkpoint::*member) {
  return {column, meaning,
          [member](const Checkpoint& c, size_t row) { return table_count((c.*member)[row]); }};
}

TableColumn value(size_t index) {
  const Statistic& statistic = *statistics()[index];
  return {statistic.key, statistic.definition, [index](const Checkpoint& c, size_t row) {
            return table_number(c.columns[index].value[row]);
          }};
}

TableColumn error(size_t index) {
  const Statistic& statistic = *statistics()[index];
  return {
      error_column(statistic.key),
      fmt::format("standard error of `{}` over documents", statistic.key),
      [index](const Checkpoint& c, size_t row) { return table_number(c.columns[index].se[row]); }};
}

// Adds the columns of each component: first values, then errors.
void add_components(std::vector<TableColumn>& columns) {
  std::vector<TableColumn> errors, last;
  for (size_t index = 0; index < statistics().size(); ++index) {
    const Statistic& statistic = *statistics()[index];
    if (statistic.table != Table::components || statistic.per != Granularity::component) continue;
    columns.push_back(value(index));
    if (statistic.error) (statistic.last_error ? last : errors).push_back(error(index));
  }
  for (const auto* group : {&errors, &last}) {
    columns.insert(columns.end(), group->begin(), group->end());
  }
}

std::string class_names() {
  std::string names;
  for (const HeadClass one : kHeadClasses) {
    names += fmt::format("{}`{}`", names.empty() ? "" : ", ", class_name(one));
  }
  return names;
}

// The class by the correlations on the first component about the means of queries and keys.
TableColumn within_class() {
  return {"within_class", "the class by `within_r_q` and `within_r_k`, as `class` in qk.csv",
          [](const Checkpoint& c, size_t row) {
            const double r_q = c.column("within_r_q").value[row];
            const double r_k = c.column("within_r_k").value[row];
            const bool known = !std::isnan(r_q) && !std::isnan(r_k);
            return known ? std::string(class_name(classify(r_q, r_k))) : std::string();
          }};
}

// Adds the columns of each head, which in qk.csv are repeated in all rows of the head: each value
// is followed by its error. In heads.csv every number has a column for an error, even if it is
// empty.
void add_heads(std::vector<TableColumn>& columns, Table table) {
  for (size_t index = 0; index < statistics().size(); ++index) {
    const Statistic& statistic = *statistics()[index];
    if (statistic.table != table || statistic.per != Granularity::head) continue;
    columns.push_back(value(index));
    if (statistic.error) {
      columns.push_back(error(index));
    } else if (table == Table::heads) {
      columns.push_back({error_column(statistic.key), "always empty",
                         [](const Checkpoint&, size_t) { return std::string(); }});
    }
    if (statistic.key == "within_r_k") columns.push_back(within_class());
  }
}

// The rows of a head follow its row of PC0.
std::string class_text(const Checkpoint& checkpoint, size_t row) {
  while (row > 0 && checkpoint.pc[row] != 0) --row;
  const auto found = class_of(checkpoint, row);
  return found ? std::string(class_name(*found)) : "";
}

}  // namespace

std::string error_column(std::string_view key) { return std::string(key) + "_se"; }

std::vector<TableColumn> table_columns(Table table) {
  std::vector<TableColumn> columns{
      name(
          "model",
          "name of the study in tables of `run`, or, of several models, the model's label; else of "
          "the model: its folder's name, or its id on the Hub",
          &Checkpoint::model),
      name("checkpoint", "label", &Checkpoint::label),
      name("phase", "training phase; empty outside experiments", &Checkpoint::phase),
      {"order", "place in the run, from 0; of several models, 0 in all",
       [](const Checkpoint& c, size_t) { return fmt::format("{}", c.order); }},
      {"step", "step of training; empty: not known",
       [](const Checkpoint& c, size_t) { return table_count(c.step); }},
      {"tokens", "tokens that training had read until then; empty: not known",
       [](const Checkpoint& c, size_t) { return table_count(c.tokens); }},
      count("layer", "from 0", &Checkpoint::layer),
      count("q_head", "query head, from 0", &Checkpoint::q_head),
      count("kv_head", "the KV head that the query head reads", &Checkpoint::kv_head),
      count("rope", "1, or 0 on a NoPE layer; empty: not known", &Checkpoint::rope)};
  const bool components = table == Table::components;
  if (components) {
    columns.push_back(count("pc", "component, from 0", &Checkpoint::pc));
    add_components(columns);
    columns.push_back({"class", "the head's class, by PC0: " + class_names(), class_text});
  }
  add_heads(columns, table);
  if (components) {
    columns.push_back(count("n_q", "query vectors", &Checkpoint::n_q));
    columns.push_back(count("n_k", "key vectors", &Checkpoint::n_k));
    columns.push_back(
        count("n_blocks", "blocks of documents that held any", &Checkpoint::n_blocks));
  }
  const auto flags = components ? &Checkpoint::flag : &Checkpoint::head_flag;
  columns.push_back({"flag", "names joined by `;`", [flags](const Checkpoint& c, size_t row) {
                       return row < (c.*flags).size() ? escape_name((c.*flags)[row]) : "";
                     }});
  return columns;
}

std::string describe_columns(Table table) {
  std::string text = "| column | meaning |\n|---|---|\n";
  for (const TableColumn& column : table_columns(table)) {
    text += fmt::format("| `{}` | {} |\n", column.name, column.meaning);
  }
  return text;
}

}  // namespace ropewalk
