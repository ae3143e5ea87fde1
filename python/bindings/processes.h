#pragma once

#include "python/bindings/bindings.h"
#include "ropewalk/base/processes/communicator.h"

namespace ropewalk::python {

// The group of processes that a Python object represents (ropewalk/_processes.py). The object has
// rank(), count(), send(to, capsule) and receive(from, capsule). It is called with the GIL held.
Communicator python_processes(const nb::object& group);

}  // namespace ropewalk::python
