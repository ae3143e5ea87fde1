#pragma once

#include <filesystem>
#include <string>

#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Models and tokenizers are named by a path or by their place on the Hub (docs/hub.md).
// What is there as a file or folder wins.

// The Hub of this process, set up from the environment when first asked for.
Hub& shared_hub();

// Finds where a model is. `options.model` may be a folder, for which no revision can be named
// (UsageError), or a Hub id, whose revision (empty: main) is fetched, tokenizer included; then
// `options.model` becomes its folder in the cache.
void locate_model(ModelOptions& options, const std::string& revision);

// Opens a model to look at, not to compute with: of weights that are on the Hub and not in the
// cache, only the headers are fetched.
OpenModel open_for_inspection(const ModelOptions& options, const std::string& revision);

// A tokenizer.json or its folder; that of a Hub model is fetched. A path that is not there is
// returned as it is.
std::filesystem::path locate_tokenizer(const std::filesystem::path& path);

}  // namespace ropewalk
