#pragma once

#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {

// config.json as if it said what `overrides` says: rope_theta, rope_scaling (a map or null),
// max_position_embeddings, sliding_window. RoPE parameters are changed where the file keeps them,
// whatever its spelling; of several sets, the one of full attention. Values are checked where the
// config is read.
JsonReader override_config(const JsonReader& config, const Json& overrides);

}  // namespace ropewalk
