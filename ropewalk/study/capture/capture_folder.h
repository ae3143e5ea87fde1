#pragma once

#include <filesystem>

namespace ropewalk {

// Checks of the folders that a command line names.

// The moments file of a capture folder, or the file itself. Throws SystemError where the path does
// not exist, InputError where it is not a capture.
std::filesystem::path moments_path(const std::filesystem::path& capture);

// The checks of moments_path() for folders that may hold vectors only: that the path exists, and
// that it is not the results folder of `run`, which users confuse with a capture.
void require_exists(const std::filesystem::path& path);
void refuse_results(const std::filesystem::path& folder);

// Throws UsageError unless --out is a new or an empty folder.
void refuse_used_folder(const std::filesystem::path& out);

}  // namespace ropewalk
