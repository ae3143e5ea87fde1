#include "ropewalk/base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"

extern char** environ;

namespace ropewalk {
namespace {

constexpr int kPollMilliseconds = 100;  // how soon an interrupt is noticed
constexpr size_t kKeptErrors = size_t{64} << 10;

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void reset(int number) {
    close();
    number_ = number;
  }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

// Both ends of a stream between parent and child. A socket rather than a pipe: writing to a child
// that has gone is then an error code, not a signal.
struct Stream {
  Stream() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw SystemError("cannot make a stream to a child process: {}", std::strerror(errno));
    }
    parent.reset(ends[0]);
    child.reset(ends[1]);
  }
  Descriptor parent;
  Descriptor child;
};

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void connect(const Stream& stream, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, stream.child.number(), as);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// A started process, ended and collected at the latest by the destructor.
class Process {
 public:
  explicit Process(pid_t id) : id_(id) {}
  ~Process() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {
    }
    id_ = 0;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t id_;
};

// Appends what there is; closes the stream at its end.
void receive(Descriptor& from, std::string& into) {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = ::recv(from.number(), buffer.data(), buffer.size(), 0);
  if (count > 0) into.append(buffer.data(), static_cast<size_t>(count));
  if (count == 0 || (count < 0 && errno != EINTR)) from.close();
}

// Sends what fits; closes the stream when all is sent or nobody listens.
void send_some(Descriptor& to, std::string_view& text) {
  const ssize_t count = ::send(to.number(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  const bool gone = count < 0 && errno != EINTR && errno != EAGAIN;
  if (text.empty() || gone) to.close();
}

void exchange(Descriptor& input, std::string_view text, Descriptor& output, Descriptor& errors,
              ChildResult& result) {
  if (text.empty()) input.close();
  while (output.open() || errors.open()) {
    throw_if_interrupted();
    // poll ignores closed streams, whose number is -1.
    std::array<pollfd, 3> streams{pollfd{input.number(), POLLOUT, 0},
                                  pollfd{output.number(), POLLIN, 0},
                                  pollfd{errors.number(), POLLIN, 0}};
    if (::poll(streams.data(), streams.size(), kPollMilliseconds) <= 0) continue;
    if (streams[0].revents != 0) send_some(input, text);
    if (streams[1].revents != 0) receive(output, result.output);
    if (streams[2].revents != 0) receive(errors, result.errors);
    if (result.errors.size() > 2 * kKeptErrors) {
      result.errors.erase(0, result.errors.size() - kKeptErrors);
    }
  }
}

}  // namespace

ChildResult run_child(const ChildCommand& command) {
  Stream input, output, errors;
  SpawnSettings settings;
  settings.connect(input, STDIN_FILENO);
  settings.connect(output, STDOUT_FILENO);
  settings.connect(errors, STDERR_FILENO);

  std::vector<std::string> words{command.program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  pid_t id = 0;
  const int error = ::posix_spawnp(&id, command.program.c_str(), settings.actions(),
                                   settings.attributes(), arguments.data(), environ);
  if (error != 0) throw SystemError("{}: cannot run: {}", command.program, std::strerror(error));
  Process process(id);
  for (Stream* stream : {&input, &output, &errors}) stream->child.close();

  ChildResult result;
  exchange(input.parent, command.input, output.parent, errors.parent, result);
  result.exit_code = process.wait();
  return result;
}

}  // namespace ropewalk
