#pragma once

#include <nanobind/nanobind.h>

namespace ropewalk::python {

namespace nb = nanobind;

// Each adds its part to the module. What Python users see of it is in python/ropewalk.
void bind_errors();
void bind_figures(nb::module_& module);
void bind_moments(nb::module_& module);
void bind_verbs(nb::module_& module);

}  // namespace ropewalk::python
