#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ropewalk/hub/cache.h"
#include "ropewalk/hub/requests.h"

namespace ropewalk {

// Puts a file's bytes into the cache where they are not there: goes on with what has arrived of
// them, waits for another process that is at it, and verifies size and hash before they get their
// name. `path` is the address below the endpoint. `arrived` hears of bytes as they come; a negative
// number takes back what must be read again. Throws InputError where the server sends something
// else than it announced.
void download_blob(HubRequests& requests, const HubCache& cache, const HubFile& file,
                   const std::string& path, const std::stop_token& stop,
                   const std::function<void(int64_t)>& arrived);

// Bytes of the file that are still to come.
int64_t missing_bytes(const HubCache& cache, const HubFile& file);

}  // namespace ropewalk
