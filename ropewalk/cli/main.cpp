#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/last_resort.h"
#include "ropewalk/base/processes/standard_streams.h"
#include "ropewalk/base/terminal.h"
#include "ropewalk/base/version.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/companion/companion.h"

namespace {

// Exit codes; docs/cli.md lists them.
enum ExitCode { kOk = 0, kInternal = 1, kUsage = 2, kInput = 3, kSystem = 4, kSignal = 128 };

ropewalk::Communicator processes;  // processes that work on the verb together

// Takes the right to print the last error. The thread of interrupt.h may already have it.
void claim_last_message() {
  if (ropewalk::is_first_to_end()) return;
  for (;;) ::pause();
}

// Decides which of several processes prints an error. Most of them fail for the same reason at the
// same time, so they wait in turn, the first one not at all; the process that prints ends all
// others. False: another one printed.
bool may_report() {
  constexpr int kMostTurns = 10;
  for (int turn = 0; turn < 5 * std::min(processes.rank(), kMostTurns); ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (ropewalk::interrupted()) return false;
  }
  return true;
}

int fail(int code, std::string_view message) {
  claim_last_message();
  if (processes.alone()) {
    ropewalk::log::error("{}", message);
  } else if (code < kSignal && may_report()) {  // the launcher reports signals
    ropewalk::log::error("process {} of {}: {}", processes.rank(), processes.count(), message);
  }
  return code;
}

// torch appends a stack trace to its messages.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::vector<std::string_view> words;  // words of the command line

bool is_verb(std::initializer_list<std::string_view> verbs) {
  return std::find_first_of(words.begin(), words.end(), verbs.begin(), verbs.end()) != words.end();
}

// Flushes standard output. Results count only once they are written: the disk may be full, or the
// reader may have gone.
int finish() {
  errno = 0;
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  const int error = errno;
  if (written) {
    claim_last_message();
    return kOk;
  }
  if (error == EPIPE) return kSignal + SIGPIPE;  // what `| head` expects
  const std::string reason = error != 0 ? fmt::format(": {}", std::strerror(error)) : "";
  return fail(kSystem, fmt::format("standard output: cannot write{}", reason));
}

int run(int argc, char** argv) {
  CLI::App app("Ropewalk watches attention heads learn position.", "ropewalk");
  app.set_version_flag("--version", ropewalk::version_details());
  app.require_subcommand(1);
  app.fallthrough();
  bool quiet = false;
  std::string level = "info";
  app.add_flag("--quiet", quiet, "Print only errors, no progress");
  app.add_option("--log-level", level, "debug, info, warning, error or off")->capture_default_str();
  app.parse_complete_callback([&] {
    ropewalk::log::set_level(quiet ? ropewalk::log::Level::error
                                   : ropewalk::log::parse_level(level));
  });
  ropewalk::cli::add_verbs(app, processes);
  app.footer(
      "Exit codes: 0 done, 1 internal error, 2 wrong command line, 3 bad input file,\n4 the system "
      "refused (files, disk, memory, device), 128 + n ended by signal n.");
  try {
    app.parse(argc, argv);
    return finish();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      app.exit(error);
      return finish();
    }
    const std::vector<std::string> unread = app.remaining();
    if (app.get_subcommands().empty() && !unread.empty() && !unread.front().starts_with('-')) {
      return fail(kUsage, fmt::format("'{}' is not a verb; see ropewalk --help", unread.front()));
    }
    return fail(kUsage, fmt::format("{}; see ropewalk --help", first_line(error.what())));
  }
}

// A setting of the library is an option on the command line.
template <typename Error>
std::string spelled(const Error& error) {
  return (error.field().empty() ? "" : "--") + std::string(error.what());
}

// Prints the current exception as an error message; returns the exit code.
int report_failure() {
  const auto out_of_memory = [](std::string_view detail) {
    const std::string advice =
        is_verb({"capture", "inspect"}) ? "give a smaller --memory or --context"
        : is_verb({"run", "demo"}) ? "give a smaller memory: or context: in the experiment file"
                                   : "end other programs, or use a machine with more memory";
    return fail(kSystem, fmt::format("out of memory; {}{}", advice, detail));
  };
  try {
    throw;
  } catch (const ropewalk::UsageError& error) {
    return fail(kUsage, spelled(error));
  } catch (const ropewalk::InputError& error) {
    return fail(kInput, error.what());
  } catch (const ropewalk::SystemError& error) {
    return fail(kSystem, spelled(error));
  } catch (const ropewalk::Interrupted& error) {
    return fail(kSignal + error.signal(), error.what());
  } catch (const std::bad_alloc&) {
    return out_of_memory("");
  } catch (const c10::Error& error) {
    const std::string_view what = first_line(error.what_without_backtrace());
    const bool memory = what.find("memory") != std::string_view::npos;
    return memory ? out_of_memory(fmt::format(" ({})", what)) : fail(kInternal, what);
  } catch (const std::system_error& error) {  // about a file, a thread or standard output
    if (error.code() == std::errc::broken_pipe) return kSignal + SIGPIPE;
    if (error.code() == std::errc::not_enough_memory) return out_of_memory("");
    if (error.code() == std::errc::resource_unavailable_try_again) {
      return fail(kSystem, "cannot start a thread; are memory or processes limited here?");
    }
    return fail(kSystem, first_line(error.what()));
  } catch (const std::exception& error) {
    // oneDNN compiles its code on demand; where memory is short, its message does not say so.
    const std::string_view what = first_line(error.what());
    const bool room = what.find("could not create a primitive") != std::string_view::npos;
    return room ? out_of_memory(fmt::format(" ({})", what)) : fail(kInternal, what);
  }
}

// The analysis allocates and frees tensors of megabytes for every head. Returning their pages to
// the system each time costs up to a sixth of the time, and more with many threads. These are the
// limits to which the C library adapts by itself once a block of 32 MiB was freed.
void keep_freed_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

// Ends the program for an exception that nobody can catch: in a library's thread, or while another
// exception is handled. It must not throw itself, because the program would then abort silently.
[[noreturn]] void end_uncaught() {
  int code = kInternal;
  try {
    ropewalk::run_exit_cleanups();
    if (std::current_exception()) code = report_failure();
  } catch (...) {  // not even the message fits into memory
    constexpr std::string_view kLine = "error: out of memory\n";
    code = ::write(STDERR_FILENO, kLine.data(), kLine.size()) < 0 ? kInternal : kSystem;
  }
  ::_exit(code);
}

int guarded(int argc, char** argv) {
  words.assign(argv + 1, argv + std::max(argc, 1));
  std::set_terminate(end_uncaught);
  try {
    ropewalk::install_interrupt_handlers();
    const int code = run(argc, argv);
    ropewalk::end_shared_companion();
    processes.finish();
    return code;
  } catch (...) {
    const int code = report_failure();
    ropewalk::end_shared_companion();
    return code;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // the launcher did so already, but debuggers start this program directly
  ropewalk::fill_standard_streams();
  keep_freed_memory();
  ropewalk::show_on_terminal();
  const int code = guarded(argc, argv);
  if (code != kOk && !processes.alone()) {
    // A signal mostly means that the launcher ends all processes, and it will report so.
    constexpr auto kLaunchersTime = std::chrono::seconds(5);
    if (ropewalk::interrupted()) std::this_thread::sleep_for(kLaunchersTime);
    processes.abort(code);
  }
  // Nothing is left to do. Exiting normally would take half a second, in which libraries clean up
  // after a GPU.
  std::fflush(nullptr);
  ::_exit(code);
}
