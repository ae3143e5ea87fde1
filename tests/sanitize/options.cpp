// Default options of the sanitizers, inside the test program so that no environment variable is
// needed. libtorch, Arrow and their OpenMP are not instrumented; all options concern the boundary
// to them.

extern "C" {

const char* __asan_default_options();
const char* __asan_default_options() {
  // Both sides of this boundary instantiate the same templates: a std::vector that is filled there
  // and read here looks like a container overflow, and inline variables look like two definitions.
  return "detect_container_overflow=0:detect_odr_violation=0:detect_stack_use_after_return=1";
}

const char* __ubsan_default_options();
const char* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=1"; }

const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() {
  // What these libraries keep until the process ends, on purpose: registries, thread pools, memory
  // pools.
  return "leak:libtorch_cpu\n"
         "leak:libc10\n"
         "leak:libarrow\n"
         "leak:libparquet\n"
         "leak:libgomp\n";
}

}  // extern "C"
