#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace ropewalk {

class Communicator;

namespace cli {

// Each function adds its verb to the program. The verb runs in its callback and reports failure by
// throwing one of the errors of base/error.h. Where several processes were started for it, the verb
// joins them and stores them in `processes`.
void add_ablate(CLI::App& app);
void add_analyze(CLI::App& app);
void add_audit(CLI::App& app);
void add_capture(CLI::App& app, Communicator& processes);
void add_run(CLI::App& app, Communicator& processes);
void add_demo(CLI::App& app, Communicator& processes);
void add_compare(CLI::App& app);
void add_export(CLI::App& app);
void add_figures(CLI::App& app);
void add_forecast(CLI::App& app);
void add_inspect(CLI::App& app);
void add_loss(CLI::App& app, Communicator& processes);
void add_merge(CLI::App& app);
void add_report(CLI::App& app);
// Adds all verbs, in the order of --help.
void add_verbs(CLI::App& app, Communicator& processes);

// Prints the output of a verb: to standard output, or to the host that runs the verbs.
void print(std::string_view text);
void set_output(std::function<void(std::string_view text)> output);

}  // namespace cli
}  // namespace ropewalk
