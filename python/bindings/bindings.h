#pragma once

#include <nanobind/nanobind.h>

namespace ropewalk::python {

namespace nb = nanobind;

// Each function adds one part to the module. The Python side, which users see, is in
// python/ropewalk.
void bind_errors();
void bind_figures(nb::module_& module);
void bind_moments(nb::module_& module);
void bind_verbs(nb::module_& module);

}  // namespace ropewalk::python
