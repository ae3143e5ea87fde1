#pragma once

#include <sys/types.h>

#include <string>

namespace ropewalk {

// A file descriptor that closes itself.
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

// A Python process that runs `program` (-c) without the current folder in its path (-P), and our
// ends of its streams. It reads requests from descriptor 4 and answers on 3; standard output and
// standard error are both collected as errors; standard input is empty. SIGINT and SIGTERM are
// blocked at its start, and its program has to ignore them first.
struct SpawnedPython {
  // Throws SystemError naming the Python that cannot be started.
  SpawnedPython(const std::string& python, const std::string& program);

  pid_t id = 0;
  // A socket, because writing to one whose reader has gone returns an error code instead of raising
  // a signal.
  Descriptor requests;
  Descriptor answers;
  Descriptor errors;
};

}  // namespace ropewalk
