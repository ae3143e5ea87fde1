#include "ropewalk/study/run/run.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/experiment/ready_made.h"

namespace ropewalk::cli {
namespace {

struct Arguments {
  RunOptions run;
  bool dry_run = false;
  int threads = 0;
};

void add_run_options(CLI::App& verb, Arguments& arguments) {
  verb.add_option("--out", arguments.run.out, "Results folder [default: out/NAME]");
  verb.add_option(
          "--format", arguments.run.formats,
          "Formats of the figures: png, svg, pdf, several with commas; json: only specifications")
      ->delimiter(',')
      ->check(CLI::IsMember({"png", "svg", "pdf", "json"}))
      ->capture_default_str();
  add_threads_option(verb, arguments.threads);
}

void execute(const Arguments& arguments, Communicator& processes) {
  RunOptions run = arguments.run;
  std::erase(run.formats, "json");  // specifications are written anyway
  processes = join_processes();
  run.processes = processes;
  set_threads(arguments.threads, processes);
  if (!arguments.dry_run) {
    print(run_study(run));
  } else if (processes.first()) {
    print(describe_run(run));
  }
}

}  // namespace

void add_run(CLI::App& app, Communicator& processes) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "run", "Measure a training run: from checkpoints to tables, figures and a report; resumable");
  verb->add_option("experiment", arguments->run.experiment,
                   "Experiment file (YAML), or the name of a ready-made one")
      ->required();
  verb->add_option("--only", arguments->run.only,
                   "Measure only the checkpoint with this label; may be given again")
      ->type_name("LABEL");
  verb->add_flag("--evict", arguments->run.evict,
                 "Remove a Hub checkpoint's weights, or captured vectors, from the cache after "
                 "measuring, if this program downloaded them");
  verb->add_flag("--keep-going", arguments->run.keep_going,
                 "Where a checkpoint fails, measure the others; exit code 3 at the end");
  verb->add_flag("--replace", arguments->run.replace,
                 "Replace the results of another experiment in the folder");
  verb->add_flag("--prune", arguments->run.prune,
                 "Remove captures from the results folder to which nothing refers any more, "
                 "including replaced ones");
  verb->add_flag("--dry-run", arguments->dry_run,
                 "Print what would be read and computed; measure nothing");
  add_run_options(*verb, *arguments);
  verb->callback([arguments, &processes] { execute(*arguments, processes); });
}

void add_demo(CLI::App& app, Communicator& processes) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "demo", "Measure the embedded training run: the ready-made experiment `demo`");
  add_run_options(*verb, *arguments);
  verb->callback([arguments, &processes] {
    arguments->run.experiment = ready_made_experiment("demo");
    execute(*arguments, processes);
  });
}

}  // namespace ropewalk::cli
