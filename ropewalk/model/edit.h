#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct ModelConfig;
class HeadOutputs;

// Tokens before this one are edited neither as queries nor as keys.
inline constexpr int64_t kFirstEdited = 4;

// Query heads by layer, ascending.
using HeadSet = std::map<int64_t, std::vector<int64_t>>;

// A query head or a KV head of a layer.
struct LayerHead {
  int64_t layer = 0;
  int64_t head = 0;
  auto operator<=>(const LayerHead&) const = default;
};

// Takes away what a head's logits owe to distance: those of a query m and its visible keys n from
// kFirstEdited on lose B = S(m - n) less the mean of S over these keys. With `keep_mass` they all
// get what makes the sum of their exponentials what it was, so that only their distribution over
// distances changes. A soft cap comes after.
struct DistanceBias {
  // S of each query head, by distance: [context] float64 on the CPU, the softmax scale included.
  std::map<LayerHead, at::Tensor> logits;
  bool keep_mass = true;
};

// Keys from kFirstEdited on that lie more than so many tokens before a query are not seen.
struct Window {
  int64_t tokens = 0;
};

// Rotary pairs with a wavelength above `cut` tokens do not turn, in queries and keys.
struct StillPairs {
  double cut = 0;
};

// These pairs of queries are zero.
struct ZeroedPairs {
  double cut = 0;
};

// x becomes x - slope (t - mean_position). A head that is not listed keeps its vectors.
struct FlattenedDrift {
  std::map<LayerHead, at::Tensor> q;  // by query head: [d_head] per token
  std::map<LayerHead, at::Tensor> k;  // by KV head
  double mean_position = 0;
};

// x becomes x - a a^T (x - mean), for queries and keys.
struct RemovedAxis {
  struct AxisAndMeans {
    at::Tensor axis;    // a: [d_head], of length 1
    at::Tensor mean_q;  // [d_head]
    at::Tensor mean_k;
  };
  std::map<LayerHead, AxisAndMeans> heads;  // by query head
};

// What a head gives from kFirstEdited on is its mean over the other documents, or zero.
struct FixedOutput {
  std::shared_ptr<const HeadOutputs> outputs;  // of all documents; null: zero
};

using ScoreEdit = std::variant<DistanceBias, Window>;
using VectorEdit = std::variant<StillPairs, ZeroedPairs, FlattenedDrift, RemovedAxis>;
using OutputEdit = FixedOutput;

// A change of some query heads in a pass. Vectors are changed after RoPE; a key that is changed for
// one query head stays what it was for the others that share it. Everything is float32, whatever
// the dtype of the pass.
struct Edit {
  std::string name;
  HeadSet heads;
  std::variant<ScoreEdit, VectorEdit, OutputEdit> what;
};

// Identifies what of an edit its name does not say: the numbers that a capture gave it.
std::string edit_digest(const Edit& edit);

// Throws UsageError where a model has no such heads, where the edit says nothing of one of them or
// nothing that can be done, in documents of up to so many tokens.
void check_edit(const ModelConfig& config, const Edit& edit, int64_t tokens);

// Of a checked edit: the heads of a layer in which it changes something in a document of so many
// tokens. The others need not be touched, so that they stay as they were, bit for bit.
std::vector<int64_t> edited_heads(const ModelConfig& config, const Edit& edit, int64_t layer,
                                  int64_t tokens);

// The first layer with such heads; nothing: the edit changes nothing.
std::optional<int64_t> first_edited_layer(const ModelConfig& config, const Edit& edit,
                                          int64_t tokens);

}  // namespace ropewalk
