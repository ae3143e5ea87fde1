#pragma once

#include <cstdint>
#include <filesystem>

namespace ropewalk {

// Bytes of memory that this process can still take: what the machine has free, and what every
// control group (cgroup v1 and v2) that the process is in leaves it. File pages that the system can
// drop count as free. `proc` stands for /proc in tests.
int64_t free_memory(const std::filesystem::path& proc = "/proc");

}  // namespace ropewalk
