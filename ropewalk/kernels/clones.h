#pragma once

// One body for each processor generation, chosen when the program starts. Sanitizers run before
// that choice can be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ROPEWALK_CLONES \
  __attribute__((target_clones("arch=skylake-avx512", "arch=haswell", "default")))
#else
#define ROPEWALK_CLONES
#endif
#define ROPEWALK_INLINE inline __attribute__((always_inline))
