#include "ropewalk/study/run/audit.h"

#include <memory>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/experiment/revisions.h"

namespace ropewalk::cli {

void add_audit(CLI::App& app) {
  auto file = std::make_shared<std::string>();
  CLI::App* verb = app.add_subcommand(
      "audit",
      "Look for duplicate, missing and changed checkpoints of a run; downloads no weights");
  verb->add_option("experiment", *file, "Experiment file (YAML), or the name of a ready-made one")
      ->required();
  verb->callback([file] {
    Experiment experiment = read_experiment(*file);
    expand_revisions(experiment);
    const Audit audit = audit_experiment(experiment, /*read_weights=*/true);
    print(format_audit(experiment, audit));
    if (!audit.findings.empty()) {
      throw InputError("{}: {}, listed on standard output", *file,
                       format_number_of(static_cast<int64_t>(audit.findings.size()), "finding"));
    }
  });
}

}  // namespace ropewalk::cli
