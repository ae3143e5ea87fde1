#pragma once

#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {

// Returns the config with `overrides` applied: rope_theta, rope_scaling (a map or null),
// max_position_embeddings, sliding_window. RoPE parameters are changed where the file keeps them,
// in any of its spellings; where there are several sets, that of full attention is changed. Values
// are checked where the config is read.
JsonReader override_config(const JsonReader& config, const Json& overrides);

}  // namespace ropewalk
