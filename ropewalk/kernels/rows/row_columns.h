#pragma once

#include <bit>
#include <cstdint>

// The numbers that rows of attention are reduced to. Torch is not included here, so that kernels on
// a GPU share these lists.
namespace ropewalk {

// Keys before it are counted apart: attention sinks.
inline constexpr int64_t kFirstLateKey = 4;

// What a row of attention, all that one query attends to, adds to the sums over rows. Late keys are
// those from kFirstLateKey on. Numbers that not every row has come with how many have them. Each is
// a column of RowNumbers::numbers.
struct RowNumber {
  enum Column : int64_t {
    rows,     // 1
    sink,     // what token 0 gets of the query's attention
    first4,   // what the keys before the late ones get
    self,     // the query's own token
    learned,  // the learned sink
    late,     // all late keys
    entropy,  // in nats; the learned sink is one outcome
    reach,    // sum over late keys of p · log2(1 + distance)
    largest,  // logit
    previous_rows,
    previous,  // the token before
    far_rows,  // four: tokens farther away than kFar, where the layer sees that far and the
    far = far_rows + 4,  // query is at least twice as far from the beginning
    echo_rows = far + 4,
    echo,         // earlier late tokens that are the same as the query's
    echo_chance,  // their share of the late keys, times `late`
    copy_rows,
    copy,  // late tokens behind such ones
    copy_chance,
    moved_rows,  // from kFirstMoved on in layers that have places (moved_keys.h)
    still_rows,  // of these, those whose logits do not vary
    positional,
    symbolic,
    count
  };
};
inline constexpr int64_t kFar[] = {64, 256, 1024, 4096};
inline constexpr int kFarCount = 4;
// kFar[i], for code on a GPU, which does not see the array.
constexpr int64_t far_distance(int i) { return int64_t{64} << (2 * i); }
static_assert(far_distance(0) == kFar[0] && far_distance(1) == kFar[1] &&
              far_distance(2) == kFar[2] && far_distance(3) == kFar[3]);
inline constexpr int64_t kFirstMoved = 64;
// Below it a variance of logits is rounding, as a share of their squares.
inline constexpr double kStillLogits = 1e-10;

// Octaves of positions from kFirstLateKey on below `context`: [4, 8), [8, 16) …
constexpr int64_t row_octave(int64_t t) {
  return std::bit_width(static_cast<uint64_t>(t)) -
         std::bit_width(static_cast<uint64_t>(kFirstLateKey));
}
constexpr int64_t row_octave_begin(int64_t octave) { return kFirstLateKey << octave; }
constexpr int64_t row_octaves(int64_t context) {
  return context > kFirstLateKey ? row_octave(context - 1) + 1 : 0;
}

// The strongest links of a document that are named: p of a late key that is not the query's own.
inline constexpr int64_t kStrongest = 2;
// The strongest links of all documents, and the tokens that are kept on each side of both ends.
inline constexpr int64_t kEdges = 24;
inline constexpr int64_t kEdgeTokensAround = 12;
inline constexpr int64_t kEdgeTokens = 2 * kEdgeTokensAround + 1;
struct EdgeNumber {
  enum Column : int64_t { document, t, key, p, count };
};

}  // namespace ropewalk
