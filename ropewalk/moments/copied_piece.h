#pragma once

#include <cstdint>
#include <vector>

namespace ropewalk {

// How a synthetic document repeats a piece of random tokens: copies of `length` tokens begin at
// `begin`, `begin + period`, ….
struct CopiedPiece {
  int64_t begin = 0;
  int64_t length = 0;
  int64_t period = 0;
  int64_t copies = 0;

  bool operator==(const CopiedPiece&) const = default;

  // Tokens of the document.
  int64_t tokens() const { return begin + (copies - 1) * period + length; }

  // Positions of the tokens of all copies but the first.
  std::vector<int64_t> copied() const {
    std::vector<int64_t> positions;
    for (int64_t copy = 1; copy < copies; ++copy) {
      for (int64_t i = 0; i < length; ++i) positions.push_back(begin + copy * period + i);
    }
    return positions;
  }
  // Positions behind the earlier copies of a copied token: what an induction head attends to.
  std::vector<int64_t> behind_earlier(int64_t position) const {
    std::vector<int64_t> positions;
    for (int64_t at = position - period; at >= begin; at -= period) positions.push_back(at + 1);
    return positions;
  }
};

}  // namespace ropewalk
