#pragma once

#include "ropewalk/base/files/json.h"

namespace ropewalk {

struct ModelConfig;

// A model as it is run, overrides included: every setting that the forward pass knows, one key
// each. capture.json keeps it under `config`, and docs/formats.md lists the keys.
Json describe_config(const ModelConfig& config);

// The part of such a description that can change a number measured at this context: what merely
// bounds other choices (max_position_embeddings, the vocabulary) and windows that reach over the
// whole context are left out, and, for trained weights, how fresh ones are drawn.
Json deciding_config(Json description, int64_t context, bool random_weights);

}  // namespace ropewalk
