#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "ropewalk/analysis/table/head_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// Adds the losses of a loss.csv to the checkpoints of a table. Throws InputError where it is not
// what it should be, or of other checkpoints; the table then stays as it was.
void read_loss_table(HeadTable& table, const std::filesystem::path& path);
void parse_loss_table(HeadTable& table, std::string_view text, const std::string& source);

// Whether a summary states the losses that the table has: a loss.csv may have stayed from another
// table of the same checkpoints.
bool states_losses(const Json& summary, const HeadTable& table);

}  // namespace ropewalk
