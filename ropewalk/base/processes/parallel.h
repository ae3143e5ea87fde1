#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>

namespace ropewalk {

// Calls `work(i, stop)` for every i below `count` on at most `threads` threads and waits for all.
// The first exception asks the others to stop and is thrown here. A `stop` from outside asks them
// to stop too.
void run_parallel(size_t count, size_t threads, std::stop_token stop,
                  const std::function<void(size_t, std::stop_token)>& work);

// The same on the cores that this thread may use, for work that does not look whether to stop.
void run_parallel(size_t count, const std::function<void(size_t)>& work);

// `text` and after it those that write(i) makes for every i below `count`, in order.
std::string write_parallel(std::string text, size_t count,
                           const std::function<std::string(size_t)>& write);

// How many cores these take at most, on this thread, on those that it starts for run_parallel, and
// on a Worker that it makes. 0, as at first: all.
void limit_cores(size_t most);
size_t core_limit();

}  // namespace ropewalk
