// Default options of ThreadSanitizer, inside the program that tests threads.

extern "C" {

const char* __tsan_default_options();
const char* __tsan_default_options() { return "halt_on_error=1:second_deadlock_stack=1"; }

}  // extern "C"
