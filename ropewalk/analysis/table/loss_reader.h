#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Adds the losses of a loss.csv to the checkpoints of a table. Throws InputError where the file is
// invalid or about other checkpoints; the table is then unchanged.
void read_loss_table(RunTable& table, const std::filesystem::path& path);
void parse_loss_table(RunTable& table, std::string_view text, const std::string& source);

// Whether a summary states the losses that the table has. A loss.csv may be left over from another
// table of the same checkpoints.
bool has_losses_of(const Json& summary, const RunTable& table);

}  // namespace ropewalk
