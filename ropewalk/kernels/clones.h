#pragma once

// One body for each level of instructions, chosen when the program starts. By level, not by
// processor: arch=haswell would be chosen on a Haswell alone. Sanitizers run before that choice can
// be made.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define ROPEWALK_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
// For those of the highest level alone, whose caller looks whether this is one.
#define ROPEWALK_WIDE __attribute__((target("arch=x86-64-v4")))
#else
#define ROPEWALK_CLONES
#endif
#define ROPEWALK_INLINE inline __attribute__((always_inline))
