#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "ropewalk/base/processes/last_resort.h"
#include "ropewalk/companion/companion.h"
#include "ropewalk/companion/spawned_python.h"

namespace ropewalk {

// One request with its answer, or with the reason why there is none.
class Companion::Request {
 public:
  std::optional<CompanionMessage> answer;
  std::optional<CompanionFailure> failure;
  std::shared_ptr<Process> process;  // the process that received the request
};

// One run of the companion. A thread reads its answers.
class Companion::Process {
 public:
  // Throws CompanionFailure.
  explicit Process(const Settings& settings);
  ~Process();
  // Sends the child its program. The constructor does not: where it threw, nobody would join the
  // thread.
  void start();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool alive() const;
  // Asks the child to end and kills it where it does not end in time; requests without an answer
  // are dropped.
  void end();

  void send(const Ticket& ticket, const std::string& task, CompanionMessage message);
  // Waits for the answer. Where it is late, this run ends and other requests are dropped.
  CompanionMessage receive(Request& request, Limit limit);

 private:
  void write(std::string_view bytes);
  void read();  // runs on the reading thread
  void read_errors();
  bool read_answers();
  bool deliver_one();
  void fail(CompanionFailure::FailureKind how, const std::string& text);
  void reap();
  void kill();
  bool wait_for_end(std::chrono::milliseconds most);

  const Settings settings_;
  const std::string python_;
  SpawnedPython child_;
  std::mutex writing_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int64_t, Ticket> waiting_;
  std::optional<CompanionFailure> failure_;
  int64_t next_ = 0;
  bool reaped_ = false;
  bool ended_ = false;       // the reading thread has ended
  std::string unread_;       // bytes of answers
  std::string last_errors_;  // the end of its error output
  std::optional<ExitCleanup> kill_if_program_ends_;
  std::thread reader_;
};

}  // namespace ropewalk
