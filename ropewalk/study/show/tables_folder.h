#pragma once

#include <filesystem>

namespace ropewalk {

// The folder to which tables are written, as --out names it. Throws UsageError where it holds
// anything but tables, their page and figures: other files, or the results of a run; SystemError
// where a run has locked it.
std::filesystem::path tables_folder(const std::filesystem::path& given);

}  // namespace ropewalk
