#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ropewalk/analysis/forecast/rope_spec.h"
#include "ropewalk/model/config/model_description.h"
#include "ropewalk/model/config/rope.h"

namespace ropewalk {

// Lengths in tokens of the documents that a setting is for.
struct RopeLengths {
  int64_t trained = 0;  // the model was trained at
  int64_t context = 0;  // the model shall read
};

// The settings that a name makes of a model's own; empty: nothing turns. Throws UsageError or
// InputError where these settings cannot be changed so.
std::optional<RopeSettings> vary_rope(const RopeSettings& own, const RopeSpec& spec,
                                      const RopeLengths& lengths);

// Which of a model's sets of settings a name changes, as their indexes in DescribedRope::ropes:
// those of layers with full attention, as `config: rope_scaling` does; where all layers slide,
// every one that a layer uses. Empty: no layer turns.
std::set<int64_t> varied_ropes(const ModelDescription& config);

// The context that a model was trained at, and how this is known.
struct TrainedContext {
  int64_t tokens = 0;
  std::string from;  // in words: "--trained", a key of config.json
};
// `stated`: by the user. Throws UsageError where nobody states it.
TrainedContext trained_context(std::optional<int64_t> stated, const ModelDescription& config);

}  // namespace ropewalk
