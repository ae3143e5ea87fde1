#include "ropewalk/study/show/report.h"

#include <memory>

#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = app.add_subcommand(
      "report", "Write a results folder or a table as one interactive HTML page");
  verb->add_option("table", options->given,
                   "qk.csv, the same table under another name, or the folder of a qk.csv")
      ->required();
  verb->add_option("--out", options->out,
                   "File to write [default: report.html in the folder of qk.csv, or "
                   "NAME.report.html in the folder of NAME.csv]");
  verb->callback([options] { print(write_report(*options).string() + "\n"); });
}

}  // namespace ropewalk::cli
