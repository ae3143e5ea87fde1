#pragma once

#include <sys/types.h>

#include <string>

namespace ropewalk {

// A file descriptor, closed at the end.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  bool open() const { return number_ >= 0; }
  void reset(int number);
  void close() { reset(-1); }

 private:
  int number_ = -1;
};

// A Python process with `program` to run (-c), the current folder out of its path (-P), and this
// end of its streams. At its descriptor 4 come requests, at 3 it answers; what it prints, on
// standard output too, are its errors; standard input is empty. It begins with SIGINT and SIGTERM
// blocked, which its program has to ignore first.
struct SpawnedPython {
  // Throws SystemError naming the Python where it cannot be started.
  SpawnedPython(const std::string& python, const std::string& program);

  pid_t id = 0;
  // A socket: writing to a process that has gone is then an error code, not a signal.
  Descriptor requests;
  Descriptor answers;
  Descriptor errors;
};

}  // namespace ropewalk
