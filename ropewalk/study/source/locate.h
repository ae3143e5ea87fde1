#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Finds models and tokenizers by path or by Hub id (docs/hub.md). An existing file or folder has
// priority.

// The Hub client of this process, configured from the environment when first used.
Hub& shared_hub();

// Finds a model. `options.model` may be a folder, for which a revision is a UsageError, or a Hub
// id, whose revision (empty: main) is fetched with its tokenizer; `options.model` then becomes its
// folder in the cache.
void locate_model(ModelOptions& options, const std::string& revision);

// Opens a model to describe it, not to compute with it: for weights that are on the Hub and not in
// the cache, only the headers are fetched.
OpenModel open_for_inspection(const ModelOptions& options, const std::string& revision);

// A tokenizer.json or its folder; for a Hub model, it is fetched. A path that does not exist is
// returned unchanged.
std::filesystem::path locate_tokenizer(const std::filesystem::path& path);

}  // namespace ropewalk
