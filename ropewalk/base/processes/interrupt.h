#pragma once

namespace ropewalk {

// Turns SIGINT and SIGTERM into a flag, which throw_if_interrupted() looks at. Where nobody has
// looked for a second and a half, or where a second signal arrives, the process ends all the same:
// what is under temporary names is removed, and the usual line is written. A third signal ends it
// without further ado.
//
// Memory of a mapped file that is gone, because the file was cut off or its disk fails, ends the
// process too, with a line that names the file. Writing past a limit, or to nobody, becomes an
// error code instead of a signal.
void install_interrupt_handlers();

// Throws Interrupted once a signal has arrived. Long loops call it between units of work, so that
// destructors run and no half-written result is left.
void throw_if_interrupted();

// The same as a question, for what must not throw.
bool interrupted();

// What took long to compute is being written. While it lives, its thread is not interrupted, and
// the process ends only once it is done, a second signal arrives, or 20 seconds have passed.
class UninterruptedScope {
 public:
  UninterruptedScope();
  ~UninterruptedScope();
  UninterruptedScope(const UninterruptedScope&) = delete;
  UninterruptedScope& operator=(const UninterruptedScope&) = delete;
};

// As if a signal had arrived, for a host that hears signals itself; and as if none had.
void request_interrupt(int signal);
void forget_interrupt();

}  // namespace ropewalk
