#pragma once

#include <filesystem>

namespace ropewalk {

// The folders that a command line names.

// The moments file of a capture folder, or the file itself. Throws SystemError where nothing is
// there, InputError where it is no capture.
std::filesystem::path moments_path(const std::filesystem::path& capture);

// The parts of that for a folder that may hold vectors alone: it is there; and it is not a folder
// that `run` wrote, which is taken for a capture at times.
void require_exists(const std::filesystem::path& path);
void refuse_results(const std::filesystem::path& folder);

// Throws UsageError where --out is something else than a new or empty folder.
void refuse_used_folder(const std::filesystem::path& out);

}  // namespace ropewalk
