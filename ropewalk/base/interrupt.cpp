#include "ropewalk/base/interrupt.h"

#include <csignal>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

volatile std::sig_atomic_t received = 0;

extern "C" void on_signal(int signal) {
  if (received != 0) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  received = signal;
}

}  // namespace

void install_interrupt_handlers() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

void throw_if_interrupted() {
  if (received != 0) throw Interrupted(received);
}

bool interrupted() { return received != 0; }

}  // namespace ropewalk
