#include "python/bindings/bindings.h"

NB_MODULE(_core, module) {
  module.doc() =
      "The functions of the library that ropewalk's Python package calls; not a public interface.";
  // Objects that a script keeps until its end are not leaks; the warnings about them fill a page.
  nanobind::set_leak_warnings(false);
  ropewalk::python::bind_errors();
  ropewalk::python::bind_figures(module);
  ropewalk::python::bind_moments(module);
  ropewalk::python::bind_verbs(module);
}
