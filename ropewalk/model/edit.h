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

// Tokens before this one are not edited, neither as queries nor as keys.
inline constexpr int64_t kFirstEdited = 4;

// Query heads by layer, ascending.
using HeadSet = std::map<int64_t, std::vector<int64_t>>;

// A query head or a KV head of a layer.
struct LayerHead {
  int64_t layer = 0;
  int64_t head = 0;
  auto operator<=>(const LayerHead&) const = default;
};

// Removes the part of a head's logits that depends on distance: the logits of a query m and its
// visible keys n from kFirstEdited on lose B = S(m - n) minus the mean of S over these keys. With
// `keep_mass` they all gain a constant that keeps the sum of their exponentials, so that only their
// distribution over distances changes. A soft cap is applied afterwards.
struct DistanceBias {
  // S of each query head, by distance: [context] float64 on the CPU, including the softmax scale.
  std::map<LayerHead, at::Tensor> logits;
  bool keep_mass = true;
};

// Hides keys from kFirstEdited on that are more than that many tokens before a query.
struct Window {
  int64_t tokens = 0;
};

// Stops the turning of rotary pairs with a wavelength above `cut` tokens, in queries and keys.
struct StillPairs {
  double cut = 0;
};

// Sets these pairs of queries to zero.
struct ZeroedPairs {
  double cut = 0;
};

// Replaces x by x - slope (t - mean_position). A head that is not listed keeps its vectors.
struct FlattenedDrift {
  std::map<LayerHead, at::Tensor> q;  // by query head: [d_head] per token
  std::map<LayerHead, at::Tensor> k;  // by KV head
  double mean_position = 0;
};

// Replaces x by x - a a^T (x - mean), for queries and keys.
struct RemovedAxis {
  struct AxisAndMeans {
    at::Tensor axis;    // a: [d_head], of length 1
    at::Tensor mean_q;  // [d_head]
    at::Tensor mean_k;
  };
  std::map<LayerHead, AxisAndMeans> heads;  // by query head
};

// Replaces the outputs of a head from kFirstEdited on by their mean over the other documents, or by
// zero.
struct FixedOutput {
  std::shared_ptr<const HeadOutputs> outputs;  // outputs of all documents; null: zero
};

using ScoreEdit = std::variant<DistanceBias, Window>;
using VectorEdit = std::variant<StillPairs, ZeroedPairs, FlattenedDrift, RemovedAxis>;
using OutputEdit = FixedOutput;

// A change of some query heads in a pass. Vectors are changed after RoPE. A key that is changed for
// one query head stays as it was for the others that share it. Everything is float32, whatever the
// dtype of the pass.
struct Edit {
  std::string name;
  HeadSet heads;
  std::variant<ScoreEdit, VectorEdit, OutputEdit> what;
};

// A digest of the parts of an edit that its name does not tell: the numbers that a capture gave it.
std::string edit_digest(const Edit& edit);

// Throws UsageError where the model lacks one of the heads, or where the edit has no values or
// impossible values for one of them, in documents of up to that many tokens.
void check_edit(const ModelConfig& config, const Edit& edit, int64_t tokens);

// For a checked edit, the heads of a layer in which it changes anything in a document of that many
// tokens. The other heads are not touched, so that they stay the same, bit for bit.
std::vector<int64_t> edited_heads(const ModelConfig& config, const Edit& edit, int64_t layer,
                                  int64_t tokens);

// The first layer with such heads; nothing where the edit changes nothing.
std::optional<int64_t> first_edited_layer(const ModelConfig& config, const Edit& edit,
                                          int64_t tokens);

}  // namespace ropewalk
