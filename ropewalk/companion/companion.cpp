#include "ropewalk/companion/companion.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <utility>

#include "ropewalk/companion/companion_process.h"
#include "ropewalk/companion/sources.h"

namespace ropewalk {

const std::string& CompanionMessage::array(const std::string& name) const {
  const auto found = arrays.find(name);
  if (found == arrays.end()) throw SystemError("the companion's answer has no '{}'", name);
  return found->second;
}

std::string companion_python() {
  if (const char* chosen = std::getenv("ROPEWALK_PYTHON"); chosen != nullptr && *chosen != '\0') {
    return chosen;
  }
  std::error_code ignored;
  if (std::filesystem::exists(kBuildPython, ignored)) return std::string(kBuildPython);
  return "python3";
}

struct Companion::State {
  Settings settings;
  mutable std::mutex mutex;
  std::shared_ptr<Process> process;
  pid_t owner = 0;  // the process that started the companion
  int64_t generation = 0;

  // After a fork, the companion and the thread that reads its answers belong to the process that
  // started them, so the fork drops both without ending them.
  void leave_to_its_owner() {
    if (!process || owner == ::getpid()) return;
    new std::shared_ptr<Process>(process);
    process.reset();
  }
};

Companion::Companion() : Companion(Settings()) {}

Companion::Companion(Settings settings) : state_(std::make_unique<State>()) {
  state_->settings = std::move(settings);
}

Companion::~Companion() {
  if (!state_->process) return;
  state_->leave_to_its_owner();
  if (state_->process) state_->process->end();
}

std::shared_ptr<Companion::Process> Companion::running() {
  const std::lock_guard lock(state_->mutex);
  state_->leave_to_its_owner();
  if (!state_->process || !state_->process->alive()) {
    state_->process.reset();
    auto process = std::make_shared<Process>(state_->settings);
    process->start();
    state_->process = std::move(process);
    state_->owner = ::getpid();
    ++state_->generation;
  }
  return state_->process;
}

Companion::Ticket Companion::send(const std::string& task, CompanionMessage message) {
  const auto process = running();
  auto ticket = std::make_shared<Request>();
  ticket->process = process;
  process->send(ticket, task, std::move(message));
  return ticket;
}

CompanionMessage Companion::receive(const Ticket& ticket, Limit limit) {
  return ticket->process->receive(*ticket, limit);
}

CompanionMessage Companion::ask(const std::string& task, CompanionMessage message, Limit limit) {
  return receive(send(task, std::move(message)), limit);
}

int64_t Companion::generation() const {
  const std::lock_guard lock(state_->mutex);
  return state_->generation;
}

namespace {

struct SharedCompanions {
  std::mutex mutex;
  std::unique_ptr<Companion> general;
  std::unique_ptr<Companion> model;
};

SharedCompanions& shared() {
  static SharedCompanions both;
  return both;
}

Companion& started(std::unique_ptr<Companion>& companion) {
  const std::lock_guard lock(shared().mutex);
  if (!companion) companion = std::make_unique<Companion>();
  return *companion;
}

}  // namespace

Companion& shared_companion() { return started(shared().general); }

Companion& model_companion() { return started(shared().model); }

void end_model_companion() {
  const std::lock_guard lock(shared().mutex);
  shared().model.reset();
}

void end_shared_companion() {
  const std::lock_guard lock(shared().mutex);
  shared().general.reset();
  shared().model.reset();
}

}  // namespace ropewalk
