#pragma once

namespace ropewalk {

// Turns SIGINT and SIGTERM into a flag that throw_if_interrupted() checks. If nobody checks it for
// a second and a half, or if a second signal arrives, the process ends anyway: files under
// temporary names are removed and the usual line is written. A third signal ends the process at
// once.
//
// Access to a mapped file whose bytes are gone (the file was truncated, or its disk fails) also
// ends the process, with a line that names the file. Writing past a limit or to a closed pipe
// returns an error code instead of raising a signal.
void install_interrupt_handlers();

// Throws Interrupted once a signal has arrived. Long loops call it between units of work, so that
// destructors run and no half-written result is left.
void throw_if_interrupted();

// Returns whether a signal has arrived, for code that must not throw.
bool interrupted();

// Stands around writing a result that took long to compute. While it lives, its thread is not
// interrupted, and the process ends only when it is destroyed, when a second signal arrives, or
// after 20 seconds.
class UninterruptedScope {
 public:
  UninterruptedScope();
  ~UninterruptedScope();
  UninterruptedScope(const UninterruptedScope&) = delete;
  UninterruptedScope& operator=(const UninterruptedScope&) = delete;
};

// Acts as if a signal had arrived, for a host that handles signals itself; and as if none had.
void request_interrupt(int signal);
void forget_interrupt();

}  // namespace ropewalk
