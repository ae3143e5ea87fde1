#include "ropewalk/study/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ropewalk/base/error.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/figures/reading_look.h"
#include "ropewalk/study/compare.h"

namespace ropewalk::cli {

void add_figures(CLI::App& app) {
  auto options = std::make_shared<DrawOptions>();
  auto experiment = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("figures", "Draw a table of heads: its figures");
  verb->add_option("table", options->table, "qk.csv, of analyze or anyone's")->required();
  verb->add_option("--out", options->out, "Folder to write NAME.vl.json and NAME.FORMAT to")
      ->required();
  verb->add_option("--summary", options->summary,
                   "Standard errors [default: the table's own summary beside it]");
  verb->add_option("--experiment", *experiment, "Experiment file: title, portraits and phases");
  verb->add_option("--format", options->formats,
                   "png, svg, pdf, several with commas; json: only the specifications")
      ->delimiter(',')
      ->check(CLI::IsMember({"png", "svg", "pdf", "json"}))
      ->capture_default_str();
  verb->add_option("--portraits", options->figures.portraits,
                   "Checkpoints of the phase portraits, with commas [default: six over the run]")
      ->delimiter(',');
  verb->add_option("--statistic", options->figures.asked.statistics,
                   "Draw this statistic over training and by depth too: a column of qk.csv or "
                   "heads.csv; several with commas, or again")
      ->delimiter(',')
      ->allow_extra_args(false);
  auto pairs = std::make_shared<std::vector<std::string>>();
  verb->add_option("--portrait", *pairs,
                   "Draw portraits with two statistics on their axes too: ACROSS,UP; may be given "
                   "again")
      ->allow_extra_args(false);
  verb->add_option("--title", options->figures.title,
                   "Name of the run in titles [default: the model's]");
  verb->callback([options, experiment, pairs] {
    DrawOptions parsed = *options;
    for (const std::string& pair : *pairs) {
      parsed.figures.asked.portraits.push_back(two_names("--portrait", pair, "statistics"));
    }
    if (!experiment->empty()) parsed.experiment = read_experiment(*experiment);
    for (const std::string& key : asked_keys(parsed.figures.asked)) {
      const std::string problem = unknown_statistic(key);
      if (!problem.empty()) throw UsageError("--statistic, --portrait: {}", problem);
    }
    std::erase(parsed.formats, "json");  // specifications are always written
    draw_figures(parsed);
  });
}

void add_compare(CLI::App& app) {
  struct Arguments {
    std::filesystem::path table;
    std::filesystem::path reference;
    std::optional<std::filesystem::path> summary;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand("compare", "Print a run's numbers beside a reference's");
  verb->add_option("table", arguments->table, "qk.csv")->required();
  verb->add_option("--reference", arguments->reference, "JSON with the keys of summary.json")
      ->required();
  verb->add_option("--summary", arguments->summary,
                   "Standard errors [default: the table's own summary beside it]");
  verb->callback([arguments] {
    const RunNumbers run = read_tables(arguments->table, arguments->summary).numbers();
    const Json reference = read_json_file(arguments->reference);
    fmt::print("{}", compare_with_reference(run, reference, arguments->reference.string()));
  });
}

}  // namespace ropewalk::cli
