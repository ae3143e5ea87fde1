#pragma once

#include <cstdint>
#include <filesystem>

namespace ropewalk {

// The bytes of memory that this process can still take: what the machine has free, limited by every
// control group (cgroup v1 and v2) that contains the process. File pages that the system can drop
// count as free. Tests pass another `proc` instead of /proc.
int64_t free_memory(const std::filesystem::path& proc = "/proc");

}  // namespace ropewalk
