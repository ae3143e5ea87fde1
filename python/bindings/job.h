#pragma once

#include <functional>

#include "python/bindings/bindings.h"

namespace ropewalk::python {

// Does `work` on a thread of its own, without the GIL. The calling thread hands log lines and
// progress to `listener` (ropewalk/_listener.py) and looks for signals meanwhile, so that Python
// code runs where it was called from. Ctrl-C, or an exception of the listener, asks the work to
// stop, and is raised once it has. One job at a time; others wait.
void run_job(nb::handle listener, const std::function<void()>& work);

// Stops the job of a daemon thread, and lets no other begin: libraries are about to be unloaded.
void end_jobs();

}  // namespace ropewalk::python
