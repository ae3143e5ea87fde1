#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  module.doc() =
      "What ropewalk's Python package calls of the library; not an interface of its own.";
  // What a script holds until its end is no leak worth a page of warnings.
  nanobind::set_leak_warnings(false);
  ropewalk::python::bind_errors();
  ropewalk::python::bind_figures(module);
  ropewalk::python::bind_moments(module);
  ropewalk::python::bind_verbs(module);
}
