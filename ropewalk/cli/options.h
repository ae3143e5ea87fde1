#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/source/open_model.h"

namespace ropewalk::cli {

// The options that every verb on a model has. Strings hold values that are parsed after the command
// line.
struct ModelArguments {
  ModelOptions options;
  std::optional<std::string> memory;
  std::string revision;
  int threads = 0;

  // Parses sizes and sets the number of threads.
  ModelOptions parse(const Communicator& processes = {}) const;
};

// For verbs on which several processes can work: the processes that were started together with this
// one. Only the first prints more than errors.
Communicator join_processes();

void add_threads_option(CLI::App& verb, int& threads);

// Must be called before anything is computed. 0: all cores, shared with the other `processes` on
// this machine.
void set_threads(int threads, const Communicator& processes);

// Checks of numbers. Their messages say what was found and what was expected; NaN is refused.
CLI::Validator whole_number(int64_t least);
CLI::Validator above_zero();
CLI::Validator up_to_one();

// Adds an option that former versions had; using it is an error that says what to write instead.
void add_former_option(CLI::App& verb, const char* name, const char* instead);

// Splits "A, B," at commas; surrounding spaces and empty names are dropped.
std::vector<std::string> names_of(const std::string& text);

// Splits "A,B" into two non-empty names. Throws UsageError naming the option and its format.
std::pair<std::string, std::string> two_names(const char* option, const std::string& text,
                                              const char* what);

// Adds the options of every verb on a model, and those that choose which heads are measured.
void add_pass_arguments(CLI::App& verb, ModelArguments& arguments);
void add_model_arguments(CLI::App& verb, ModelArguments& arguments);

}  // namespace ropewalk::cli
