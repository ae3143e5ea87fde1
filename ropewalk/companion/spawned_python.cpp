#include "ropewalk/companion/spawned_python.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "ropewalk/base/error.h"

extern char** environ;

namespace ropewalk {
namespace {

constexpr int kAnswers = 3;
constexpr int kRequests = 4;

[[noreturn]] void no_stream() {
  throw SystemError("cannot make a stream to a child process: {}", std::strerror(errno));
}

// Sets the child's end. Its number is above those that the child uses, because they are assigned
// one after another.
void set_child_end(Descriptor& end, int number) {
  end.reset(::fcntl(number, F_DUPFD_CLOEXEC, kRequests + 1));
  const int error = errno;
  ::close(number);
  errno = error;
  if (!end.open()) no_stream();
}

// Makes a pipe that the child writes to.
void make_pipe(Descriptor& mine, Descriptor& childs) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) no_stream();
  mine.reset(ends[0]);
  set_child_end(childs, ends[1]);
}

void make_socket(Descriptor& mine, Descriptor& childs) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) no_stream();
  mine.reset(ends[0]);
  set_child_end(childs, ends[1]);
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    ::posix_spawnattr_setsigmask(&attributes_, &blocked);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  void connect(const Descriptor& end, int as) {
    ::posix_spawn_file_actions_adddup2(&actions_, end.number(), as);
  }
  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

}  // namespace

void Descriptor::reset(int number) {
  if (number_ >= 0) ::close(number_);
  number_ = number;
}

SpawnedPython::SpawnedPython(const std::string& python, const std::string& program) {
  Descriptor childs_requests, childs_answers, childs_errors;
  make_socket(requests, childs_requests);
  make_pipe(answers, childs_answers);
  make_pipe(errors, childs_errors);
  SpawnSettings settings;
  settings.connect(childs_errors, STDOUT_FILENO);
  settings.connect(childs_errors, STDERR_FILENO);
  settings.connect(childs_answers, kAnswers);
  settings.connect(childs_requests, kRequests);

  std::array<std::string, 4> words{python, "-P", "-c", program};
  std::array<char*, 5> arguments{};
  for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const int error = ::posix_spawnp(&id, python.c_str(), settings.actions(), settings.attributes(),
                                   arguments.data(), environ);
  if (error != 0) throw SystemError("{}: cannot run: {}", python, std::strerror(error));
}

}  // namespace ropewalk
