#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>

namespace ropewalk {

class Communicator;

namespace cli {

// Each adds its verb to the program. The verb's work runs from its callback and reports failure by
// throwing one of the errors of base/error.h. Where several
// processes were started for it, the verb joins them and says so in `processes`.
void add_ablate(CLI::App& app);
void add_analyze(CLI::App& app);
void add_audit(CLI::App& app);
void add_capture(CLI::App& app, Communicator& processes);
void add_run(CLI::App& app, Communicator& processes);
void add_demo(CLI::App& app, Communicator& processes);
void add_compare(CLI::App& app);
void add_export(CLI::App& app);
void add_figures(CLI::App& app);
void add_inspect(CLI::App& app);
void add_loss(CLI::App& app, Communicator& processes);
void add_merge(CLI::App& app);
void add_report(CLI::App& app);
// All of them, in the order of --help.
void add_verbs(CLI::App& app, Communicator& processes);

// What a verb shows: on standard output, unless a host of the verbs takes it.
void print(std::string_view text);
void set_output(std::function<void(std::string_view text)> output);

}  // namespace cli
}  // namespace ropewalk
