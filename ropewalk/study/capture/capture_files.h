#pragma once

#include <filesystem>
#include <vector>

namespace ropewalk {

// Whether a folder holds the files of a capture (damaged or not) and nothing else, except files
// that desktops create (.DS_Store), so that it may be moved or removed.
bool is_capture(const std::filesystem::path& folder);

// The reason why a folder is not a capture: files in it that do not belong to one, or the folder
// itself where it has none.
std::vector<std::filesystem::path> foreign_files_in(const std::filesystem::path& folder);

// Throws InputError where a folder holds anything else, and SystemError where it cannot be removed;
// it then keeps its name.
void remove_capture(const std::filesystem::path& folder);

}  // namespace ropewalk
