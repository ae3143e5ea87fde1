#include "ropewalk/cli/verbs.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "python/bindings/job.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/run/audit.h"

namespace ropewalk::python {
namespace {

// Captures what a verb prints.
class OutputCapture {
 public:
  explicit OutputCapture(std::string& text) {
    cli::set_output([&text](std::string_view more) { text += more; });
  }
  ~OutputCapture() { cli::set_output({}); }
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;
};

// Sets the number of torch's threads while a verb runs, and restores it: they belong to the whole
// program.
class ThreadCountScope {
 public:
  ThreadCountScope() = default;
  ~ThreadCountScope() { at::set_num_threads(before_); }
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int before_ = at::get_num_threads();
};

void run_verb(std::vector<std::string> words) {
  CLI::App app;
  app.require_subcommand(1);
  Communicator processes;
  cli::add_verbs(app, processes);
  std::reverse(words.begin(), words.end());  // CLI11 expects the last word first
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    const std::string text = error.what();
    throw UsageError("{}", text.substr(0, text.find('\n')));
  }
  processes.finish();
}

std::string call(nb::handle listener, const std::vector<std::string>& words) {
  std::string text;
  run_job(listener, [&] {
    const OutputCapture shown(text);
    const ThreadCountScope threads;
    run_verb(words);
  });
  return text;
}

std::vector<std::pair<std::string, std::string>> audit(nb::handle listener,
                                                       const std::string& file) {
  std::vector<std::pair<std::string, std::string>> findings;
  run_job(listener, [&] {
    Experiment experiment = read_experiment(file);
    expand_revisions(experiment);
    for (const AuditFinding& finding :
         audit_experiment(experiment, /*read_weights=*/true).findings) {
      findings.emplace_back(kind_name(finding.kind), finding.text);
    }
  });
  return findings;
}

}  // namespace

void bind_verbs(nb::module_& module) {
  module.def("call", call);
  module.def("audit", audit);
  module.def("end_jobs", end_jobs);
}

}  // namespace ropewalk::python
