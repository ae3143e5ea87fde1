#pragma once

namespace ropewalk {

// A set of tokens, with the numbers that joining moments needs.
struct TokenSet {
  double tokens = 0;
  double position_mean = 0;
};

}  // namespace ropewalk
