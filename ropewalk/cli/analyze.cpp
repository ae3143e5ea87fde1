#include "ropewalk/study/show/analyze.h"
#include "ropewalk/study/experiment/limits.h"

#include <algorithm>
#include <memory>
#include <string>

#include "ropewalk/analysis/table/series_table.h"
#include "ropewalk/analysis/table/table_columns.h"
#include "ropewalk/base/error.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

namespace {

// The pairs of --between, without repetitions.
std::vector<std::pair<std::string, std::string>> pairs_of(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& text : texts) {
    const auto pair = two_names("--between", text, "labels");
    if (pair.first == pair.second) {
      throw UsageError("--between '{}': found one label twice, expected two", text);
    }
    if (std::find(pairs.begin(), pairs.end(), pair) != pairs.end()) {
      throw UsageError("--between '{}': given twice; leave one out", text);
    }
    pairs.push_back(pair);
  }
  return pairs;
}

// The verb for people who add a statistic: CONTRIBUTING.md.
void add_columns(CLI::App& app) {
  auto table = std::make_shared<std::string>();
  CLI::App* columns = app.add_subcommand("columns",
                                         "Print one line per column of a table, with its meaning, "
                                         "as Markdown for docs/formats.md")
                          ->group("");
  columns
      ->add_option(
          "table", *table,
          "heads, bands or curves for heads.csv, bands.csv or curves.csv [default: qk.csv]")
      ->check(CLI::IsMember({"heads", "bands", "curves"}));
  columns->callback([table] {
    const bool series = *table == "bands" || *table == "curves";
    print(series ? describe_series_columns(*table == "bands" ? SeriesTable::bands
                                                             : SeriesTable::curves)
                 : describe_columns(table->empty() ? Table::components : Table::heads));
  });
}

}  // namespace

void add_analyze(CLI::App& app) {
  auto options = std::make_shared<AnalyzeOptions>();
  options->out = "tables";
  CLI::App* verb = app.add_subcommand(
      "analyze",
      "Turn captures into qk.csv, heads.csv, bands.csv, curves.csv, changes.csv and summary.json");
  verb->add_option("captures", options->captures,
                   "Capture folders; LABEL=FOLDER gives one another label in the tables")
      ->required();
  verb->add_option("--out", options->out,
                   "Folder for the tables; new, empty, or with the tables of an earlier analyze")
      ->capture_default_str();
  verb->add_flag(
      "--keep-order", options->keep_order,
      "Keep the order of the folders [default: the order of training, by the steps in labels]");
  verb->add_option("--components", options->components, "Principal components per head")
      ->check(CLI::Range(int64_t{1}, kMostComponents))
      ->capture_default_str();
  verb->add_option("--from", options->from,
                   "moments or vectors [default: moments if there are any]")
      ->check(CLI::IsMember({"moments", "vectors", "auto"}));
  verb->add_option("--kv-group", options->kv_group,
                   "Query heads that share a key head, for vectors that do not state it")
      ->check(whole_number(1));
  auto between = std::make_shared<std::vector<std::string>>();
  verb->add_option(
          "--between", *between,
          "Two labels, A,B: also write the changes from A to B to changes.csv; may be given again")
      ->allow_extra_args(false);
  verb->add_option("--min-change", options->changes.min_change,
                   "Smallest change of a head that counts, as a share of the spread over heads")
      ->check(up_to_one())
      ->capture_default_str();
  auto threads = std::make_shared<int>(0);
  add_threads_option(*verb, *threads);
  verb->callback([options, between, threads] {
    set_threads(*threads, {});
    options->changes.between = pairs_of(*between);
    analyze(*options);
  });
  add_columns(app);
}

void add_merge(CLI::App& app) {
  struct Arguments {
    std::vector<std::filesystem::path> captures;
    std::filesystem::path out;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("merge", "Join captures of one model on different documents");
  verb->add_option("captures", arguments->captures, "Capture folders, in any order")->required();
  verb->add_option("--out", arguments->out, "Folder to write; must be new or empty")->required();
  verb->callback([arguments] { merge_captures(arguments->captures, arguments->out); });
}

}  // namespace ropewalk::cli
