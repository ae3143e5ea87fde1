#pragma once

#include "python/bindings/bindings.h"
#include "ropewalk/base/processes/communicator.h"

namespace ropewalk::python {

// The processes that a Python object speaks for (ropewalk/_processes.py), which has rank(),
// count(), send(to, capsule) and receive(from, capsule). Used with the GIL held.
Communicator python_processes(const nb::object& group);

}  // namespace ropewalk::python
