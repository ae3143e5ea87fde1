#include "ropewalk/cli/verbs.h"

#include <fmt/format.h>

#include <utility>

namespace ropewalk::cli {
namespace {

std::function<void(std::string_view)> taker;

}  // namespace

void add_verbs(CLI::App& app, Communicator& processes) {
  add_run(app, processes);
  add_demo(app, processes);
  add_audit(app);
  add_inspect(app);
  add_capture(app, processes);
  add_loss(app, processes);
  add_ablate(app);
  add_forecast(app);
  add_analyze(app);
  add_merge(app);
  add_figures(app);
  add_report(app);
  add_compare(app);
  add_export(app);
}

void set_output(std::function<void(std::string_view)> output) { taker = std::move(output); }

void print(std::string_view text) {
  if (taker) {
    taker(text);
  } else {
    fmt::print("{}", text);
  }
}

}  // namespace ropewalk::cli
