#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ropewalk {

struct CaptureMoments;

// Longer than any real document: files that claim such lengths are not believed.
inline constexpr int64_t kLongestDocument = int64_t{1} << 24;

// From a length in tokens to the number of documents with this length.
using LengthCounts = std::map<int64_t, int64_t>;

struct DocumentLengths {
  LengthCounts all;
  std::vector<LengthCounts> of_block;  // empty: unknown which document is in which block
};

// Empty where the capture does not list lengths and documents differ in length.
std::optional<DocumentLengths> document_lengths(const CaptureMoments& moments);

}  // namespace ropewalk
