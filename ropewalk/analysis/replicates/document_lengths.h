#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ropewalk {

struct CaptureMoments;

// Longer documents than anyone has: what a file says of such is not believed.
inline constexpr int64_t kLongestDocument = int64_t{1} << 24;

// How many documents have how many tokens.
using LengthCounts = std::map<int64_t, int64_t>;

struct DocumentLengths {
  LengthCounts all;
  std::vector<LengthCounts> of_block;  // empty: it is not known which document is in which block
};

// None where a capture does not say, and they are not all of one length.
std::optional<DocumentLengths> document_lengths(const CaptureMoments& moments);

}  // namespace ropewalk
