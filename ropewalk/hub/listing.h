#pragma once

#include <string>
#include <vector>

#include "ropewalk/hub/hub.h"

namespace ropewalk {

// The files of a commit in a folder (empty: its top) and in all folders below it, by name. A commit
// never changes, so its list is asked for once and kept in HubCache::notes(). Throws InputError
// offline where it is not there.
std::vector<HubFile> list_files(Hub& hub, const HubRepository& repository,
                                const std::string& commit, const std::string& folder = "");

}  // namespace ropewalk
