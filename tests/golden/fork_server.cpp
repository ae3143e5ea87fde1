// Preloaded into the program under test, this makes it a server: libraries are loaded and their
// constructors run once, and every command of a test runs in a fork, from the program's own main
// on. Loading libtorch takes twenty times as long as a small command does.
//
// A request over the socket: standard output and error as file descriptors, then a length and that
// many bytes: working directory, number of arguments, arguments, environment, each ended by a zero.
// The answer: process id, then how it ended, as waitpid() says; 32 bits each.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Main = int (*)(int, char**, char**);
Main program = nullptr;

[[noreturn]] void give_up(const char* why) {
  ::perror(why);
  ::_exit(1);
}

void read_all(int socket, void* to, size_t size) {
  for (auto* next = static_cast<char*>(to); size > 0;) {
    const ssize_t got = ::read(socket, next, size);
    if (got <= 0) ::_exit(1);  // the test has ended
    next += got;
    size -= static_cast<size_t>(got);
  }
}

void send(int socket, int32_t value) {
  if (::write(socket, &value, sizeof value) != sizeof value) ::_exit(1);
}

struct Request {
  int out = -1;
  int error = -1;
  std::vector<std::string> texts;
};

Request receive(int socket) {
  uint32_t size = 0;
  iovec part{&size, sizeof size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(2 * sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  if (::recvmsg(socket, &message, MSG_WAITALL) != sizeof size) ::_exit(1);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) give_up("no file descriptors");
  std::array<int, 2> files{};
  std::memcpy(files.data(), CMSG_DATA(header), sizeof files);
  std::string bytes(size, '\0');
  read_all(socket, bytes.data(), size);
  Request request{files[0], files[1], {}};
  for (size_t at = 0; at < bytes.size(); at += request.texts.back().size() + 1) {
    request.texts.emplace_back(bytes.c_str() + at);
  }
  return request;
}

// In the forked process that becomes the program.
int become(const Request& request) {
  ::dup2(request.out, STDOUT_FILENO);
  ::dup2(request.error, STDERR_FILENO);
  ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
  for (int file = STDERR_FILENO + 1; file < 64; ++file) ::close(file);
  static std::vector<std::string> texts;  // main and the environment keep pointers to these
  texts = request.texts;
  if (::chdir(texts[0].c_str()) != 0) give_up("chdir");
  const size_t count = std::strtoul(texts[1].c_str(), nullptr, 10);
  static std::vector<char*> words;
  for (size_t i = 0; i < count; ++i) words.push_back(texts[2 + i].data());
  words.push_back(nullptr);
  ::clearenv();
  for (size_t i = 2 + count; i < texts.size(); ++i) ::putenv(texts[i].data());
  return program(static_cast<int>(count), words.data(), environ);
}

int serve(int, char**, char**) {
  const char* path = std::getenv("ROPEWALK_FORK_SOCKET");
  if (path == nullptr) give_up("ROPEWALK_FORK_SOCKET");
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) give_up(path);
  if (::listen(listener, 16) != 0) give_up("listen");
  ::signal(SIGCHLD, SIG_IGN);  // nobody waits for the processes that answer
  for (;;) {
    std::array<pollfd, 2> events{{{listener, POLLIN, 0}, {STDIN_FILENO, 0, 0}}};
    if (::poll(events.data(), events.size(), -1) < 0) give_up("poll");
    if (events[1].revents != 0) ::_exit(0);  // the tests have ended
    const int socket = ::accept(listener, nullptr, nullptr);
    if (socket < 0) give_up("accept");
    if (::fork() == 0) {
      ::signal(SIGCHLD, SIG_DFL);
      const Request request = receive(socket);
      const pid_t child = ::fork();
      if (child == 0) return become(request);
      send(socket, child);
      int status = 0;
      if (::waitpid(child, &status, 0) != child) give_up("waitpid");
      send(socket, status);
      ::_exit(0);
    }
    ::close(socket);
  }
}

}  // namespace

// The C library calls main through this function.
extern "C" __attribute__((visibility("default"))) int __libc_start_main(Main main, int argc,
                                                                        char** argv, void (*init)(),
                                                                        void (*fini)(),
                                                                        void (*end_of_loader)(),
                                                                        void* end_of_stack) {
  program = main;
  const auto start =
      reinterpret_cast<decltype(&__libc_start_main)>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(serve, argc, argv, init, fini, end_of_loader, end_of_stack);
}
