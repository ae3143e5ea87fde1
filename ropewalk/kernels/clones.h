#pragma once

// Compiles one body for each level of instructions; the loader chooses one when the program starts.
// Levels are named instead of processors, because arch=haswell would be chosen on a Haswell only.
// Sanitizers run before that choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ROPEWALK_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For functions of the highest level only; their caller checks that the processor has it.
#define ROPEWALK_WIDE __attribute__((target("arch=x86-64-v4")))
#else
#define ROPEWALK_CLONES
#endif
#define ROPEWALK_INLINE inline __attribute__((always_inline))
