#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/source/open_model.h"

namespace ropewalk::cli {

// The options every verb on a model shares. The string holds what must be parsed after the command
// line.
struct ModelArguments {
  ModelOptions options;
  std::optional<std::string> memory;
  std::string revision;
  int threads = 0;

  // The options, with sizes parsed and threads set.
  ModelOptions parse(const Communicator& processes = {}) const;
};

// For verbs that several processes work on: those that were started with this one. All but the
// first say only errors.
Communicator join_processes();

void add_threads_option(CLI::App& verb, int& threads);

// Threads, before anything is computed; 0: all cores, shared with the `processes` on this machine.
void set_threads(int threads, const Communicator& processes);

// Checks of numbers that say in a few words what was found and expected, and let no NaN through.
CLI::Validator whole_number(int64_t least);
CLI::Validator above_zero();
CLI::Validator up_to_one();

// An option that there was: an error that says what to write instead.
void add_former_option(CLI::App& verb, const char* name, const char* instead);

// "A, B,": names with commas between them, without the spaces around them and empty ones.
std::vector<std::string> names_of(const std::string& text);

// "A,B", neither of them empty. Throws UsageError naming the option and what it takes.
std::pair<std::string, std::string> two_names(const char* option, const std::string& text,
                                              const char* what);

// Those of every verb on a model, and those that say which heads are measured besides.
void add_pass_arguments(CLI::App& verb, ModelArguments& arguments);
void add_model_arguments(CLI::App& verb, ModelArguments& arguments);

}  // namespace ropewalk::cli
