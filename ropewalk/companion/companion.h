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

// A message between the program and its companion: words, and arrays by name, as bytes in memory
// order (little-endian).
struct CompanionMessage {
  Json words = Json::object();
  std::map<std::string, std::string> arrays;

  // Throws SystemError where there is no such array.
  const std::string& array(const std::string& name) const;
};

// The reason why a request got no answer. Uncaught, it counts as an error of the machine.
class CompanionFailure : public SystemError {
 public:
  enum class FailureKind {
    cannot_run,  // there is no such Python, or it is too old
    ended,       // the companion ended, by a signal or by itself
    hangs,       // the companion gave no sign of life
    rubbish,     // the answer is not valid
    late,        // the request took longer than its limit
    dropped,     // another request ended the companion; send this one again
    missing,     // a package is missing or too old
    memory,      // the request took more memory than its limit
    refused,     // the task refused and says why
  };
  CompanionFailure(FailureKind how, const std::string& text) : SystemError("{}", text), how_(how) {}
  FailureKind how() const { return how_; }

 private:
  FailureKind how_;
};

// The Python that runs the companion: $ROPEWALK_PYTHON, else the one that the program was built
// with, else python3.
std::string companion_python();

// One child process that does what Python libraries do best. Its tasks are `tokens`, `figures`
// and `model`, one Python file each in this folder, which the program contains. The tasks offer
// primitives; decisions stay in C++. The companion starts with the first request and ends with this
// object, or with this process however that ends. Thread-safe; requests of different tasks do not
// wait for each other.
class Companion {
 public:
  struct Settings {
    std::string python;  // empty: companion_python()
    // After so long without a sign of life it counts as hung.
    std::chrono::milliseconds silence{30'000};
    std::chrono::milliseconds farewell{1'500};   // time to end by itself before it is killed
    std::map<std::string, std::string> sources;  // sources of further tasks, by name
  };
  class Request;  // a request that was sent
  using Ticket = std::shared_ptr<Request>;
  using Limit = std::optional<std::chrono::milliseconds>;

  Companion();
  explicit Companion(Settings settings);
  ~Companion();
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;

  // Starts the companion where it is not running and hands it a request. Throws CompanionFailure
  // where it cannot run, and Interrupted.
  Ticket send(const std::string& task, CompanionMessage message);
  // Waits for the answer; after `limit` the companion is ended. Throws CompanionFailure, and
  // Interrupted.
  CompanionMessage receive(const Ticket& ticket, Limit limit = {});
  CompanionMessage ask(const std::string& task, CompanionMessage message, Limit limit = {});

  // How many companions were started so far: a new one does not know what an earlier one was told.
  int64_t generation() const;

 private:
  class Process;
  std::shared_ptr<Process> running();

  struct State;
  std::unique_ptr<State> state_;
};

// The companion of this process, shared by all tasks. A fork of this process has its own.
Companion& shared_companion();
// The companion that runs models: the limits of time and memory of a text, which end a companion,
// must not end a pass.
Companion& model_companion();
void end_model_companion();
// Ends both at the end of a verb.
void end_shared_companion();

}  // namespace ropewalk
