#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Adds the losses of a loss.csv to the checkpoints of a table. Throws InputError where it is not
// what it should be, or of other checkpoints; the table then stays as it was.
void read_loss_table(RunTable& table, const std::filesystem::path& path);
void parse_loss_table(RunTable& table, std::string_view text, const std::string& source);

// Whether a summary states the losses that the table has: a loss.csv may have stayed from another
// table of the same checkpoints.
bool has_losses_of(const Json& summary, const RunTable& table);

}  // namespace ropewalk
