#pragma once

#include "ropewalk/base/files/json.h"

namespace ropewalk {

struct ModelConfig;

// Describes a model as it is run, including overrides: one key for each setting that the forward
// pass knows. capture.json keeps it under `config`, and docs/formats.md lists the keys.
Json describe_config(const ModelConfig& config);

// The part of such a description that can change a number measured at this context. It leaves out
// limits of other choices (max_position_embeddings, the vocabulary), windows that cover the whole
// context and, for trained weights, the distribution of fresh ones.
Json deciding_config(Json description, int64_t context, bool random_weights);

}  // namespace ropewalk
