#include "ropewalk/study/analyze.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "ropewalk/analysis/table_columns.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_analyze(CLI::App& app) {
  auto options = std::make_shared<AnalyzeOptions>();
  options->out = "qk.csv";
  CLI::App* verb =
      app.add_subcommand("analyze", "Turn captures into qk.csv, heads.csv and summary.json");
  verb->add_option("captures", options->captures, "Capture folders")->required();
  verb->add_option("--out", options->out,
                   "Table to write; beside qk.csv go heads.csv and summary.json, beside NAME.csv "
                   "NAME.heads.csv and NAME.summary.json")
      ->capture_default_str();
  verb->add_flag("--keep-order", options->keep_order,
                 "Keep the order of the folders [default: of training, by the steps in labels]");
  verb->add_option("--components", options->components, "Principal components per head")
      ->check(CLI::Range(int64_t{1}, kMostComponents))
      ->capture_default_str();
  verb->add_option("--from", options->from,
                   "moments or vectors [default: moments where there are any]")
      ->check(CLI::IsMember({"moments", "vectors", "auto"}));
  verb->add_option("--kv-group", options->kv_group,
                   "Query heads that share a key head, for vectors that do not say")
      ->check(whole_number(1));
  verb->callback([options] { analyze(*options); });
  // For whoever adds a statistic: CONTRIBUTING.md.
  auto heads = std::make_shared<std::string>();
  CLI::App* columns =
      app.add_subcommand("columns", "Print the columns of a table as docs/formats.md has them")
          ->group("");
  columns->add_option("table", *heads, "heads for heads.csv [default: qk.csv]")
      ->check(CLI::IsMember({"heads"}));
  columns->callback([heads] {
    fmt::print("{}", describe_columns(heads->empty() ? Table::components : Table::heads));
  });
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
