#pragma once

#include <functional>

#include "python/bindings/bindings.h"

namespace ropewalk::python {

// Runs `work` on a thread of its own, without the GIL. Meanwhile the calling thread passes log
// lines and progress to `listener` (ropewalk/_listener.py) and checks for signals, so that Python
// code runs in the thread from which it was called. Ctrl-C, or an exception of the listener, asks
// the work to stop, and is raised after it has stopped. One job runs at a time; others wait.
void run_job(nb::handle listener, const std::function<void()>& work);

// Stops the job of a daemon thread and lets no other begin, because libraries are about to be
// unloaded.
void end_jobs();

}  // namespace ropewalk::python
