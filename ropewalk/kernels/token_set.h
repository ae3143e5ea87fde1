#pragma once

namespace ropewalk {

// A set of tokens, as the joining of moments sees it.
struct TokenSet {
  double tokens = 0;
  double position_mean = 0;
};

}  // namespace ropewalk
