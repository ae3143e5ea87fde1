#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What travels between the program and its companion: words, and arrays by name, as the bytes that
// they have in memory (little-endian).
struct CompanionMessage {
  Json words = Json::object();
  std::map<std::string, std::string> arrays;

  // Throws SystemError where there is none.
  const std::string& array(const std::string& name) const;
};

// Why a request got no answer. What is not caught as one is an error of the machine.
class CompanionFailure : public SystemError {
 public:
  enum class FailureKind {
    cannot_run,  // there is no such Python, or it is too old
    ended,       // by a signal, or of itself
    hangs,       // no sign of life
    rubbish,     // an answer that is none
    late,        // the request took longer than it may
    dropped,     // because of another request; to be sent again
    missing,     // it lacks a package, or has too old a one
    memory,      // the request took more memory than it may
    refused,     // the task says why
  };
  CompanionFailure(FailureKind how, const std::string& text) : SystemError("{}", text), how_(how) {}
  FailureKind how() const { return how_; }

 private:
  FailureKind how_;
};

// The Python that a companion runs in: $ROPEWALK_PYTHON, else the one that the program was built
// with, else python3.
std::string companion_python();

// One child process that does what libraries of Python do best: `tokens` and `figures`, one Python
// file each in this folder, which travel inside the program. It has primitives; whatever decides
// something stays in C++. It starts with the first request, and ends with this object, or with this
// process whatever becomes of it. Thread-safe; requests of different tasks do not wait for each
// other.
class Companion {
 public:
  struct Settings {
    std::string python;                          // empty: companion_python()
    std::chrono::milliseconds silence{30'000};   // without a sign of life: it hangs
    std::chrono::milliseconds farewell{1'500};   // to end in; then it is killed
    std::map<std::string, std::string> sources;  // of further tasks, by name
  };
  class Request;  // on its way
  using Ticket = std::shared_ptr<Request>;
  using Limit = std::optional<std::chrono::milliseconds>;

  Companion();
  explicit Companion(Settings settings);
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  // Starts the companion where there is none (any more), and hands it a request. Throws
  // CompanionFailure where it cannot run, and Interrupted.
  Ticket send(const std::string& task, CompanionMessage message);
  // The answer. After a `limit` the companion is ended. Throws CompanionFailure, and Interrupted.
  CompanionMessage receive(const Ticket& ticket, Limit limit = {});
  CompanionMessage ask(const std::string& task, CompanionMessage message, Limit limit = {});

  // How many were started: what one was told, the next does not know.
  int64_t generation() const;

 private:
  class Process;
  std::shared_ptr<Process> running();

  struct State;
  std::unique_ptr<State> state_;
};

// The companion of this process, for tokens and figures alike. A process forked from this one has
// its own.
Companion& shared_companion();
// Ends it, where there is one: at the end of a verb.
void end_shared_companion();

}  // namespace ropewalk
