#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace ropewalk {

// The kind of an error decides the exit code (docs/cli.md). A message is one line: what is wrong
// (the file, tensor or key first), what was found and what was expected, what to do.

// The setting that an error is about, by its plain name ("device"). The message begins with this
// name; the command line puts "--" before it, an experiment puts its file and line before it.
struct Field {
  std::string name;
};

// The command line or a caller asked for something that cannot be. Exit code 2.
class UsageError : public std::invalid_argument {
 public:
  template <typename... Args>
  explicit UsageError(fmt::format_string<Args...> text, Args&&... args)
      : std::invalid_argument(fmt::format(text, std::forward<Args>(args)...)) {}
  template <typename... Args>
  explicit UsageError(const Field& field, fmt::format_string<Args...> text, Args&&... args)
      : std::invalid_argument(field.name + fmt::format(text, std::forward<Args>(args)...)),
        field_(field.name) {}
  // Empty where the error is about no single setting.
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// A checkpoint, tokenizer, corpus or results file is not what it should be. Exit code 3.
class InputError : public std::runtime_error {
 public:
  template <typename... Args>
  explicit InputError(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
};

// The machine refused: a file cannot be opened, the disk is full, memory or a device is missing.
// Exit code 4.
class SystemError : public std::runtime_error {
 public:
  template <typename... Args>
  explicit SystemError(fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(fmt::format(text, std::forward<Args>(args)...)) {}
  template <typename... Args>
  explicit SystemError(const Field& field, fmt::format_string<Args...> text, Args&&... args)
      : std::runtime_error(field.name + fmt::format(text, std::forward<Args>(args)...)),
        field_(field.name) {}
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

// SIGINT or SIGTERM arrived; see interrupt.h. Exit code 128 + signal.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal)
      : Interrupted(signal, fmt::format("interrupted by signal {}", signal)) {}
  Interrupted(int signal, const std::string& text) : std::runtime_error(text), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

}  // namespace ropewalk
