#pragma once

#include <string>
#include <vector>

#include "ropewalk/hub/hub.h"

namespace ropewalk {

// The files of a commit in a folder (empty: the top folder) and in all folders below it, by name. A
// commit never changes, so its list is requested once and kept in HubCache::notes(). Offline,
// throws InputError where no list was kept.
std::vector<HubFile> list_files(Hub& hub, const HubRepository& repository,
                                const std::string& commit, const std::string& folder = "");

}  // namespace ropewalk
