#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes.h"
#include "ropewalk/base/version.h"
#include "ropewalk/cli/verbs.h"

namespace {

// Exit codes; docs/cli.md lists them.
enum ExitCode { kOk = 0, kInternal = 1, kUsage = 2, kInput = 3, kSystem = 4, kSignal = 128 };

// Of several processes most fail for the same reason at the same time. They wait for each other in
// turn, the first not at all; the one that reports ends all others. False: somebody else did.
bool may_report() {
  constexpr int kMostTurns = 10;
  for (int turn = 0; turn < 5 * std::min(ropewalk::processes::rank(), kMostTurns); ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (ropewalk::interrupted()) return false;
  }
  return true;
}

int fail(int code, std::string_view message) {
  if (ropewalk::processes::count() == 1) {
    ropewalk::log::error("{}", message);
  } else if (code < kSignal && may_report()) {  // signals are the launcher's to report
    ropewalk::log::error("process {} of {}: {}", ropewalk::processes::rank(),
                         ropewalk::processes::count(), message);
  }
  return code;
}

// torch adds a stack trace to its messages.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

// OpenMP's threads wait for each other in a busy loop. Where other programs want the cores too,
// that loop takes the time its own partner needs, and everything runs ten times slower. The library
// reads its settings while it is loaded, so a short loop takes a fresh start of this program, which
// only verbs that compute on many cores are worth.
void wait_politely(int argc, char** argv) {
  const bool computes = std::any_of(argv, argv + argc, [](std::string_view word) {
    return word == "run" || word == "demo" || word == "capture" || word == "analyze";
  });
  if (!computes) return;
  constexpr const char* kSetting = "GOMP_SPINCOUNT";
  if (std::getenv(kSetting) != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  ::setenv(kSetting, "1000", 1);
  ::execv("/proc/self/exe", argv);  // returns only where it fails; then things are merely slower
}

int run(int argc, char** argv) {
  CLI::App app("Ropewalk watches attention heads learn position.", "ropewalk");
  app.set_version_flag("--version", ropewalk::version_details());
  app.require_subcommand(1);
  app.fallthrough();
  bool quiet = false;
  std::string level = "info";
  app.add_flag("--quiet", quiet, "Errors only, no progress");
  app.add_option("--log-level", level, "debug, info, warning, error or off")->capture_default_str();
  app.parse_complete_callback([&] {
    ropewalk::log::set_level(quiet ? ropewalk::log::Level::error
                                   : ropewalk::log::parse_level(level));
  });
  ropewalk::cli::add_run(app);
  ropewalk::cli::add_demo(app);
  ropewalk::cli::add_audit(app);
  ropewalk::cli::add_inspect(app);
  ropewalk::cli::add_capture(app);
  ropewalk::cli::add_analyze(app);
  ropewalk::cli::add_merge(app);
  ropewalk::cli::add_figures(app);
  ropewalk::cli::add_report(app);
  ropewalk::cli::add_compare(app);
  app.footer(
      "Exit codes: 0 done, 1 internal error, 2 wrong command line, 3 bad input file,\n"
      "4 the machine refused (files, disk, memory, device), 128 + n ended by signal n.");
  try {
    app.parse(argc, argv);
    return kOk;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    const std::vector<std::string> unread = app.remaining();
    if (app.get_subcommands().empty() && !unread.empty() && !unread.front().starts_with('-')) {
      return fail(kUsage, fmt::format("'{}' is not a verb; see ropewalk --help", unread.front()));
    }
    return fail(kUsage, fmt::format("{}; see ropewalk --help", first_line(error.what())));
  }
}

int run_and_report(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    ropewalk::processes::finish();
    return code;
  } catch (const ropewalk::UsageError& error) {
    return fail(kUsage, error.what());
  } catch (const ropewalk::InputError& error) {
    return fail(kInput, error.what());
  } catch (const ropewalk::SystemError& error) {
    return fail(kSystem, error.what());
  } catch (const ropewalk::Interrupted& error) {
    return fail(kSignal + error.signal(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(kSystem, "out of memory; give a smaller --memory or --context");
  } catch (const c10::Error& error) {
    const std::string_view what = first_line(error.what_without_backtrace());
    const bool memory = what.find("memory") != std::string_view::npos;
    return memory
               ? fail(kSystem,
                      fmt::format("out of memory; give a smaller --memory or --context ({})", what))
               : fail(kInternal, what);
  } catch (const std::exception& error) {
    return fail(kInternal, first_line(error.what()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  wait_politely(argc, argv);
  ropewalk::install_interrupt_handlers();
  const int code = run_and_report(argc, argv);
  if (code == kOk) return code;
  // A signal mostly means that the launcher is ending all of them, and will say so.
  constexpr auto kLaunchersTime = std::chrono::seconds(5);
  const bool alone = ropewalk::processes::count() == 1;
  if (!alone && ropewalk::interrupted()) std::this_thread::sleep_for(kLaunchersTime);
  ropewalk::processes::abort(code);
  return code;
}
