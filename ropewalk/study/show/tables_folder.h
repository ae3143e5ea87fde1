#pragma once

#include <filesystem>

namespace ropewalk {

// The folder that tables go to, as --out names it. Throws UsageError where it holds anything but
// tables, their page and figures: another's files, or the results of a run; SystemError where a run
// holds it.
std::filesystem::path tables_folder(const std::filesystem::path& given);

}  // namespace ropewalk
