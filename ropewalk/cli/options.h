#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "ropewalk/study/open_model.h"

namespace ropewalk::cli {

// The options every verb on a model shares. The string holds what must be parsed after the command
// line.
struct ModelArguments {
  ModelOptions options;
  std::optional<std::string> memory;
  std::string revision;
  int threads = 0;

  // The options, with sizes parsed and threads set.
  ModelOptions settle() const;
};

// More than any machine has; OpenMP ends the program where it cannot start them.
constexpr int kMostThreads = 1024;

// For verbs that several processes share: joins them. All but the first one say only errors.
void join_processes();

// Threads (0: all cores, shared with the processes on this machine) and exact float32, before
// anything is computed.
void set_up_torch(int threads);

// Checks of numbers that say in a few words what was found and expected, and let no NaN through.
CLI::Validator whole_number(int64_t least);
CLI::Validator above_zero();

void add_model_arguments(CLI::App& verb, ModelArguments& arguments);

}  // namespace ropewalk::cli
