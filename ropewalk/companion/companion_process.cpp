#include "ropewalk/companion/companion_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/companion/companion_frame.h"
#include "ropewalk/companion/sources.h"

namespace ropewalk {
namespace {

using FailureKind = CompanionFailure::FailureKind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLook{100};  // how often waiting checks for an interrupt
constexpr size_t kKeptErrors = size_t{64} << 10;

// Reads the companion's source from the requests; on the command line everybody could see it.
constexpr const char* kBoot =
    "import json; file = open(4, 'rb'); head = json.loads(file.readline()); "
    "exec(compile(file.read(head['size']), 'ropewalk/companion/companion.py', 'exec'), "
    "{**head, 'REQUESTS': file})";

std::string ascii(const Json& json) { return json.dump(-1, ' ', /*ensure_ascii=*/true); }

std::string program(const std::map<std::string, std::string>& more) {
  Json sources{{"tokens", kTokensSource}, {"figures", kFiguresSource}, {"model", kModelSource}};
  for (const auto& [task, source] : more) sources[task] = source;
  const Json head{{"PARENT", ::getpid()}, {"SOURCES", sources}, {"size", kCompanionSource.size()}};
  return ascii(head) + "\n" + std::string(kCompanionSource);
}

// The last line says what went wrong; the lines before it are a stack trace.
std::string last_line(std::string_view text) {
  while (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const size_t start = text.rfind('\n');
  return printable_excerpt(start == std::string_view::npos ? text : text.substr(start + 1), 400);
}

FailureKind how_of(const std::string& kind) {
  return kind == "missing"   ? FailureKind::missing
         : kind == "memory"  ? FailureKind::memory
         : kind == "dropped" ? FailureKind::dropped
                             : FailureKind::refused;
}

SpawnedPython spawn(const std::string& python) try {
  return {python, kBoot};
} catch (const SystemError& error) {
  throw CompanionFailure(FailureKind::cannot_run, error.what());
}

}  // namespace

Companion::Process::Process(const Settings& settings)
    : settings_(settings),
      python_(settings.python.empty() ? companion_python() : settings.python),
      child_(spawn(python_)) {
  kill_if_program_ends_.emplace([this] { kill(); });
  reader_ = std::thread([this] { read(); });
}

void Companion::Process::start() { write(program(settings_.sources)); }

Companion::Process::~Process() { end(); }

bool Companion::Process::alive() const {
  const std::lock_guard lock(mutex_);
  return !failure_;
}

void Companion::Process::end() {
  if (!reader_.joinable()) return;
  ::shutdown(child_.requests.number(), SHUT_RDWR);
  // The companion has nothing to save, so an interrupted program waits no longer than needed.
  if (!wait_for_end(interrupted() ? std::min(settings_.farewell, 2 * kLook) : settings_.farewell)) {
    kill();
  }
  reader_.join();
}

bool Companion::Process::wait_for_end(milliseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return ended_; });
}

void Companion::Process::kill() {
  const std::lock_guard lock(mutex_);
  if (!reaped_) ::kill(child_.id, SIGKILL);
}

void Companion::Process::send(const Ticket& ticket, const std::string& task,
                              CompanionMessage message) {
  Json& words = message.words;
  words["task"] = task;
  words["arrays"] = Json::array();
  for (const auto& [name, bytes] : message.arrays) {
    words["arrays"].push_back({{"name", name}, {"type", "u1"}, {"shape", {bytes.size()}}});
  }
  const std::lock_guard writing(writing_);
  {
    const std::lock_guard lock(mutex_);
    if (failure_) {
      ticket->failure = failure_;
      return;
    }
    words["id"] = ++next_;
    waiting_[next_] = ticket;
  }
  write(ascii(words) + "\n");
  for (const auto& [name, bytes] : message.arrays) write(bytes);
}

// The reader reports a failed write. After half a message nothing else can be sent, so an interrupt
// ends the companion.
void Companion::Process::write(std::string_view bytes) {
  while (!bytes.empty() && alive()) {
    try {
      throw_if_interrupted();
    } catch (const Interrupted&) {
      fail(FailureKind::dropped, "interrupted");
      throw;
    }
    pollfd stream{child_.requests.number(), POLLOUT, 0};
    if (::poll(&stream, 1, static_cast<int>(kLook.count())) <= 0) continue;
    const ssize_t count =
        ::send(child_.requests.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;
  }
}

CompanionMessage Companion::Process::receive(Request& request, Limit limit) {
  const auto start = steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!request.answer && !request.failure) {
    throw_if_interrupted();
    if (limit && steady_clock::now() - start > *limit) {
      request.failure.emplace(FailureKind::late, fmt::format("{}: no answer after {} s", python_,
                                                             limit->count() / 1000));
      lock.unlock();
      fail(FailureKind::dropped, "another request took too long");
      lock.lock();
      break;
    }
    changed_.wait_for(lock, kLook);
  }
  if (request.failure) throw CompanionFailure(*request.failure);
  return std::move(*request.answer);
}

// Fails all requests, waiting and future ones, and ends the process.
void Companion::Process::fail(FailureKind how, const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_.emplace(how, text);
    for (auto& [id, ticket] : waiting_) {
      if (!ticket->failure) ticket->failure = failure_;
    }
    waiting_.clear();
    if (!reaped_) ::kill(child_.id, SIGKILL);
  }
  changed_.notify_all();
}

void Companion::Process::read() {
  milliseconds silent{0};
  auto before = steady_clock::now();
  while (child_.answers.open() && silent < settings_.silence) {
    std::array<pollfd, 2> streams{pollfd{child_.answers.number(), POLLIN, 0},
                                  pollfd{child_.errors.number(), POLLIN, 0}};
    ::poll(streams.data(), streams.size(), static_cast<int>(kLook.count()));
    // Silence is counted in small steps, so that time during which both processes were stopped does
    // not count.
    const auto now = steady_clock::now();
    silent += std::min(std::chrono::duration_cast<milliseconds>(now - before), 5 * kLook);
    before = now;
    if (streams[1].revents != 0) read_errors();
    if (streams[0].revents != 0 && read_answers()) silent = milliseconds(0);
  }
  if (silent >= settings_.silence) {
    fail(FailureKind::hangs, fmt::format("{}: hangs: no sign of life for {:.3g} s", python_,
                                         static_cast<double>(settings_.silence.count()) / 1000));
  }
  reap();
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
}

void Companion::Process::read_errors() {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = ::read(child_.errors.number(), buffer.data(), buffer.size());
  if (count == 0 || (count < 0 && errno != EINTR)) child_.errors.close();
  if (count <= 0) return;
  last_errors_.append(buffer.data(), static_cast<size_t>(count));
  if (last_errors_.size() > 2 * kKeptErrors) {
    last_errors_.erase(0, last_errors_.size() - kKeptErrors);
  }
}

// Returns whether there was anything to read.
bool Companion::Process::read_answers() {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = ::read(child_.answers.number(), buffer.data(), buffer.size());
  if (count == 0 || (count < 0 && errno != EINTR)) child_.answers.close();
  if (count <= 0) return false;
  unread_.append(buffer.data(), static_cast<size_t>(count));
  try {
    while (deliver_one()) {
    }
  } catch (const std::exception&) {
    fail(FailureKind::rubbish,
         fmt::format("{}: invalid answer: '{}'", python_, printable_excerpt(unread_, 80)));
    child_.answers.close();
  }
  return true;
}

// Takes one whole message off the front of the unread bytes; returns whether there was one. Throws
// where the bytes are not a message.
bool Companion::Process::deliver_one() {
  std::optional<CompanionFrame> frame = first_frame(unread_);
  if (!frame) return false;
  CompanionMessage& message = frame->message;
  if (!message.words.contains("beat")) {
    const auto id = message.words.at("id").get<int64_t>();
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(id);
    if (found == waiting_.end()) throw SystemError("an answer without a request");
    if (message.words.contains("error")) {
      found->second->failure.emplace(
          how_of(message.words.at("kind").get<std::string>()),
          printable_excerpt(message.words.at("error").get<std::string>(), 400));
    } else {
      found->second->answer = std::move(message);
    }
    waiting_.erase(found);
  }
  unread_.erase(0, frame->bytes);
  changed_.notify_all();
  return true;
}

// Waits for the child to end, helping where needed, and tells waiting requests why it ended.
void Companion::Process::reap() {
  const auto until = steady_clock::now() + settings_.farewell;
  int status = 0;
  pid_t found = 0;
  while (found == 0) {
    {
      const std::lock_guard lock(mutex_);
      found = ::waitpid(child_.id, &status, WNOHANG);
      if (found < 0 && errno == EINTR) found = 0;
      reaped_ = found != 0;
      if (found == 0 && steady_clock::now() > until) ::kill(child_.id, SIGKILL);
    }
    if (found != 0) break;
    pollfd stream{child_.errors.number(), POLLIN, 0};
    ::poll(&stream, 1, 5);
    if (stream.revents != 0) read_errors();
  }
  for (pollfd left{child_.errors.number(), POLLIN, 0};
       left.fd >= 0 && ::poll(&left, 1, 0) > 0 && left.revents != 0;
       left.fd = child_.errors.number()) {
    read_errors();
  }
  const bool memory = last_errors_.find("memory allocation of") != std::string::npos;
  const bool old = last_errors_.find("nknown option: -P") != std::string::npos;
  const std::string last = last_line(last_errors_);
  std::string text = fmt::format("{}: ", python_);
  if (old) {
    text += "is older than Python 3.11";
  } else {
    text += found < 0             ? "ended"
            : WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                                  : fmt::format("ended with exit code {}", WEXITSTATUS(status));
    if (!last.empty()) text += ": " + last;
  }
  fail(old ? FailureKind::cannot_run : memory ? FailureKind::memory : FailureKind::ended, text);
}

}  // namespace ropewalk
