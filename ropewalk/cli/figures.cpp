#include "ropewalk/study/show/figures.h"

#include <algorithm>
#include <memory>

#include "ropewalk/base/error.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/study/show/compare.h"

namespace ropewalk::cli {

namespace {

void require_statistic(const char* option, const std::string& key) {
  const std::string problem = unknown_statistic_error(key);
  if (!problem.empty()) throw UsageError("{}: {}", option, problem);
}

// The values of --statistic, --portrait and --distance, each of which can be repeated.
RequestedFigures requested_figures(const std::vector<std::string>& keys,
                                   const std::vector<std::string>& pairs,
                                   const std::vector<std::string>& heads) {
  RequestedFigures asked;
  for (const std::string& given : keys) {
    const std::vector<std::string> names = names_of(given);
    if (names.empty())
      throw UsageError("--statistic: the list is empty; expected a statistic such as r2cv_q");
    for (const std::string& name : names) {
      require_statistic("--statistic", name);
      asked.statistics.push_back(name);
    }
  }
  for (const std::string& given : pairs) {
    const PortraitPair pair = two_names("--portrait", given, "statistics");
    for (const std::string& name : {pair.first, pair.second}) require_statistic("--portrait", name);
    asked.portraits.push_back(pair);
  }
  for (const std::string& given : heads) {
    const std::vector<std::string> names = names_of(given);
    if (names.empty())
      throw UsageError("--distance: the list is empty; expected a head such as L3H2");
    for (const std::string& name : names) {
      const auto head = find_head(name);
      if (!head) throw UsageError("--distance: {}", unknown_head_error(name));
      asked.distance.push_back(*head);
    }
  }
  return asked;
}

}  // namespace

void add_figures(CLI::App& app) {
  auto options = std::make_shared<DrawOptions>();
  auto experiment = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand("figures", "Draw all figures of a table of heads");
  verb->add_option("table", options->table,
                   "qk.csv, of analyze or of another program, or the folder that holds it")
      ->required();
  verb->add_option("--out", options->out, "Folder to write NAME.vl.json and NAME.FORMAT to");
  auto list = std::make_shared<bool>(false);
  verb->add_flag(
      "--list", *list,
      "List the figures that would be drawn, and the statistics that can be requested; draw none");
  verb->add_option("--summary", options->summary,
                   "summary.json with standard errors [default: the one in the table's folder]");
  verb->add_option("--experiment", *experiment,
                   "Experiment file that gives title, portraits and phases");
  verb->add_option("--format", options->formats,
                   "Formats: png, svg, pdf, several with commas; json: only the specifications")
      ->delimiter(',')
      ->check(CLI::IsMember({"png", "svg", "pdf", "json"}))
      ->capture_default_str();
  verb->add_option("--portraits", options->figures.portraits,
                   "Checkpoints in phase portraits and in logits by distance, several with commas "
                   "[default: six over the run]")
      ->delimiter(',');
  auto keys = std::make_shared<std::vector<std::string>>();
  verb->add_option("--statistic", *keys,
                   "Also draw this statistic over training and by depth: r2cv_q, abs_r_k, … "
                   "(docs/figures.md); several with commas, or again")
      ->allow_extra_args(false);
  auto pairs = std::make_shared<std::vector<std::string>>();
  verb->add_option("--portrait", *pairs,
                   "Also draw portraits with two statistics on their axes: X,Y; may be given again")
      ->allow_extra_args(false);
  auto heads = std::make_shared<std::vector<std::string>>();
  verb->add_option("--distance", *heads,
                   "Also draw logits by distance of single heads: L3H2 for layer 3, head 2; "
                   "several with commas, or again")
      ->allow_extra_args(false);
  auto axis = std::make_shared<std::string>();
  verb->add_option("--axis", *axis,
                   "Axis of figures over training: labels, steps, tokens, log-steps or log-tokens "
                   "[default: the experiment's, else labels]")
      ->check(CLI::IsMember(std::vector<std::string>(kTimeAxes.begin(), kTimeAxes.end())));
  verb->add_option("--title", options->figures.title,
                   "Name of the run in titles [default: the model's]");
  verb->callback([options, experiment, keys, pairs, heads, axis, list] {
    DrawOptions parsed = *options;
    if (!axis->empty()) parsed.figures.axis = time_axis(*axis);
    parsed.figures.asked = requested_figures(*keys, *pairs, *heads);
    if (!experiment->empty()) parsed.experiment = read_experiment(*experiment);
    for (std::string& label : parsed.figures.portraits) CLI::detail::trim(label);
    std::erase(parsed.figures.portraits, "");
    std::erase(parsed.formats, "json");  // specifications are written anyway
    if (*list) return print(list_figures(parsed));
    if (parsed.out.empty()) throw UsageError("--out: is missing; name a folder, or give --list");
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
  CLI::App* verb = app.add_subcommand("compare", "Compare a run's numbers with a reference's");
  verb->add_option("table", arguments->table, "qk.csv, or the folder that holds it")->required();
  verb->add_option("--reference", arguments->reference, "JSON with the keys of summary.json")
      ->required();
  verb->add_option("--summary", arguments->summary,
                   "summary.json with standard errors [default: the one in the table's folder]");
  verb->callback([arguments] {
    const RunNumbers run = read_tables(arguments->table, arguments->summary).numbers();
    const Json reference = read_json_file(arguments->reference);
    print(compare_with_reference(run, reference, arguments->reference.string()));
  });
}

}  // namespace ropewalk::cli
