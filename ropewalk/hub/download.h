#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ropewalk/hub/cache.h"
#include "ropewalk/hub/requests.h"

namespace ropewalk {

// Puts a file's bytes into the cache unless they are there. It resumes an earlier download, waits
// for another process that downloads the same file, and verifies size and hash before the bytes get
// their name. `path` is the address below the endpoint. `arrived` is called with the number of new
// bytes; a negative number takes back bytes that must be read again. Throws InputError where the
// server sends something else than it announced.
void download_blob(HubRequests& requests, const HubCache& cache, const HubFile& file,
                   const std::string& path, const std::stop_token& stop,
                   const std::function<void(int64_t)>& arrived);

// The number of bytes of the file that are still missing.
int64_t missing_bytes(const HubCache& cache, const HubFile& file);

}  // namespace ropewalk
