#include "ropewalk/study/show/export.h"

#include <memory>

#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_export(CLI::App& app) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* verb =
      app.add_subcommand("export", "Export a capture to files that other programs load");
  verb->add_option("capture", options->capture, "Capture folder, with all heads")->required();
  verb->add_option("--to", options->to,
                   "kvpress (Expected Attention) or q-filters (Q-Filters, QFilterPress)")
      ->required()
      ->check(CLI::IsMember(export_targets()));
  verb->add_option("--out", options->out, "Folder to write; must be new or empty")->required();
  verb->callback([options] { export_capture(*options); });
}

}  // namespace ropewalk::cli
