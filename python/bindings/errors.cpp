#include <c10/util/Exception.h>

#include <new>
#include <string_view>

#include "python/bindings/bindings.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk::python {
namespace {

// torch appends a stack trace to its messages.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

void raise(nb::handle type, std::string_view text) {
  PyErr_SetString(type.ptr(), printable(text).c_str());
}

// Raises the exception of this name from ropewalk/errors.py.
void raise_ours(const char* name, std::string_view text) {
  raise(nb::module_::import_("ropewalk.errors").attr(name), text);
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const UsageError& error) {
    raise_ours("UsageError", error.what());
  } catch (const InputError& error) {
    raise_ours("InputError", error.what());
  } catch (const SystemError& error) {
    raise_ours("SystemError", error.what());
  } catch (const Interrupted& error) {
    raise(PyExc_KeyboardInterrupt, error.what());
  } catch (const c10::OutOfMemoryError& error) {
    raise(PyExc_MemoryError, first_line(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    raise(PyExc_RuntimeError, first_line(error.what_without_backtrace()));
  }
}

}  // namespace

void bind_errors() { nb::register_exception_translator(translate); }

}  // namespace ropewalk::python
