#pragma once

namespace ropewalk {

// Turns SIGINT and SIGTERM into a flag. A second signal ends the process at once.
void install_interrupt_handlers();

// Throws Interrupted once a signal has arrived. Long loops call it between units of work, so that
// destructors run and no half-written result is left.
void throw_if_interrupted();

// The same as a question, for what must not throw.
bool interrupted();

}  // namespace ropewalk
