#pragma once

#include <filesystem>
#include <vector>

namespace ropewalk {

// Whether a folder holds the files of a capture and nothing else but what desktops leave
// (.DS_Store), so that it may be moved or removed; damaged ones count too.
bool is_capture(const std::filesystem::path& folder);

// What makes a folder no capture: files in it that are not a capture's, or the folder itself where
// none is.
std::vector<std::filesystem::path> foreign_files_in(const std::filesystem::path& folder);

// Throws InputError where a folder holds anything else, SystemError where it cannot be removed;
// then it keeps its name.
void remove_capture(const std::filesystem::path& folder);

}  // namespace ropewalk
