#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/moments/capture_info.h"

namespace ropewalk {

// Where the tokenizer of a capture may still be: as it was named, beside the model, in the Hub's
// cache. Nothing is downloaded.
std::vector<std::filesystem::path> tokenizer_paths(const CaptureNames& capture);

// Gives the edges of checkpoints their texts, by the first of these tokenizers that has this
// digest. Leaves them empty where none has: what an edge says must not be made up.
void add_edge_texts(const std::vector<CheckpointTable*>& checkpoints,
                    const std::vector<std::filesystem::path>& paths, const std::string& digest);

}  // namespace ropewalk
