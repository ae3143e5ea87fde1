#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>

namespace ropewalk {

// Calls `work(i, stop)` for every i below `count` on at most `threads` threads and waits for all of
// them. The first exception makes the others stop and is thrown here. A `stop` from outside makes
// them stop too.
void run_parallel(size_t count, size_t threads, std::stop_token stop,
                  const std::function<void(size_t, std::stop_token)>& work);

// Calls `work(i)` on all cores that this thread may use, for work that cannot stop early.
void run_parallel(size_t count, const std::function<void(size_t)>& work);

// Returns `text` followed by the results of write(i) for every i below `count`, in order.
std::string write_parallel(std::string text, size_t count,
                           const std::function<std::string(size_t)>& write);

// Limits the cores that this thread uses, together with the threads that it starts through
// run_parallel and with any Worker that it makes. 0, the default, means all.
void limit_cores(size_t most);
size_t core_limit();

}  // namespace ropewalk
