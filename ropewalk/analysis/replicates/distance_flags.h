#pragma once

namespace ropewalk {

// Flags of heads.csv. Captures of earlier versions took logits at single distances, which do not
// compare with those over windows.
inline constexpr const char* kSingleDistances = "single_distances";
// The logit of a head's mean query and key is the same at every distance.
inline constexpr const char* kNoDistance = "no_distance";

}  // namespace ropewalk
