#include "ropewalk/study/report.h"

#include <memory>

#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_report(CLI::App& app) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* verb =
      app.add_subcommand("report", "Write a results folder as one interactive HTML page");
  verb->add_option("folder", options->folder, "Folder with qk.csv, as run and analyze write it")
      ->required();
  verb->add_option("--out", options->out, "File to write [default: report.html in the folder]");
  verb->callback([options] { print(write_report(*options).string() + "\n"); });
}

}  // namespace ropewalk::cli
