#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

namespace ropewalk {

// Calls `work(i, stop)` for every i below `count` on at most `threads` threads and waits for all.
// The first exception asks the others to stop and is thrown here. A `stop` from outside asks them
// to stop too.
void run_parallel(size_t count, size_t threads, std::stop_token stop,
                  const std::function<void(size_t, std::stop_token)>& work);

// The same on all cores, for work that does not look whether to stop.
void run_parallel(size_t count, const std::function<void(size_t)>& work);

}  // namespace ropewalk
