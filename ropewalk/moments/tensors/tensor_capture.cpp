#include "ropewalk/moments/tensors/tensor_capture.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/version.h"
#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/kernels/products/exact_float32.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/rotary_pairs.h"
#include "ropewalk/moments/collectors/join_batches.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

constexpr size_t kLatest = 64;                        // enough for the rows of a batch
constexpr int64_t kTogether = 4096;                   // tokens
constexpr int64_t kMostPositions = int64_t{1} << 26;  // a RoPE table of them takes gigabytes

std::vector<QueryHead> all_heads(const TensorShape& shape) {
  std::vector<int32_t> layers(static_cast<size_t>(shape.layers));
  for (size_t i = 0; i < layers.size(); ++i) layers[i] = static_cast<int32_t>(i);
  return head_candidates(layers, static_cast<int32_t>(shape.q_heads));
}

void require_shape(const at::Tensor& vectors, const char* name, int64_t heads, int64_t tokens,
                   int64_t head_dim) {
  const std::vector<int64_t> expected{heads, tokens, head_dim};
  if (vectors.sizes() == expected && at::isFloatingType(vectors.scalar_type())) return;
  throw UsageError("{}: found a tensor of {} and {}, expected one of [{}] and a floating type",
                   name, vectors.sizes().vec(), at::toString(vectors.scalar_type()),
                   fmt::join(expected, ", "));
}

// Vectors in a form that kernels accept, without autograd's history.
at::Tensor plain(const at::Tensor& vectors) {
  const bool known = vectors.scalar_type() == at::kFloat || vectors.scalar_type() == at::kBFloat16;
  const at::Tensor numbers = (known ? vectors : vectors.to(at::kFloat)).detach();
  return numbers.stride(2) == 1 ? numbers : numbers.contiguous();
}

// The same as plain(), but float64 on the host stays, because second moments accept it.
at::Tensor widest(const at::Tensor& vectors, const at::Tensor& as_plain) {
  const bool kept = vectors.scalar_type() == at::kDouble && vectors.is_cpu();
  return kept ? vectors.detach() : as_plain;
}

// Whether vectors [rows, heads, T, d] lie such that a row's tokens follow the previous row's, one
// step apart.
bool one_behind_the_other(const at::Tensor& vectors) {
  return vectors.stride(0) == vectors.size(2) * vectors.stride(2);
}

// A view [heads, rows · T, d] of the same memory.
at::Tensor as_one(const at::Tensor& vectors) {
  return vectors.size(0) == 1 ? vectors[0] : vectors.transpose(0, 1).flatten(1, 2);
}

std::vector<QueryHead> heads_of(const TensorShape& shape) {
  return shape.planned ? shape.planned->heads : all_heads(shape);
}

KeepOptions kept_of(const TensorShape& shape) {
  KeepOptions keep = shape.keep;
  keep.pre_rope = keep.pre_rope && !shape.config.empty();
  keep.rows = {};  // rows need attention scores, and tensors do not say how a model computes them
  return keep;
}

CollectorOptions collected(const TensorShape& shape) {
  CollectorOptions options{.blocks = shape.blocks, .keep = kept_of(shape)};
  if (!shape.planned) return options;
  options.context = shape.planned->context;
  options.documents = shape.planned->documents;
  return options;
}

}  // namespace

TensorCapture::TensorCapture(const TensorShape& shape)
    : turns_(!shape.config.empty()),
      config_(make_config(shape)),
      context_(shape.context),
      clusters_(shape.planned ? shape.planned->clusters : std::map<int64_t, int64_t>()),
      collector_(config_, heads_of(shape), collected(shape)) {}

void TensorCapture::add(int64_t layer, int64_t document, const at::Tensor& q, const at::Tensor& k,
                        const std::optional<at::Tensor>& positions, int64_t turned) {
  add_as_one(layer, {&document, 1}, q, k, positions, turned);
}

void TensorCapture::add(int64_t layer, std::span<const int64_t> documents, const at::Tensor& q,
                        const at::Tensor& k, const std::optional<at::Tensor>& positions,
                        int64_t turned) {
  const auto rows = static_cast<int64_t>(documents.size());
  std::optional<at::Tensor> all = positions;
  if (rows > 1 && !all) all = at::arange(q.size(2));
  if (all) all = all->dim() == 1 && rows > 1 ? all->repeat({rows}) : all->flatten();
  add_as_one(layer, documents, as_one(q), as_one(k), all, turned);
}

int64_t TensorCapture::together(std::span<const int64_t> documents, const at::Tensor& q,
                                const at::Tensor& k) const {
  if (documents.size() == 1 || q.size(2) == 0) return 1;
  // For vectors before RoPE, the first tokens of each document would have to be gathered.
  if (collector_.shape().keep.pre_rope) return 1;
  if (!one_behind_the_other(q) || !one_behind_the_other(k)) return 1;
  const auto block = [&](int64_t document) { return document % collector_.blocks(); };
  const auto first = block(documents[0]);
  const auto end = std::find_if(documents.begin() + 1, documents.end(),
                                [&](int64_t document) { return block(document) != first; });
  return std::clamp<int64_t>(end - documents.begin(), 1,
                             std::max<int64_t>(1, kTogether / q.size(2)));
}

void TensorCapture::add_as_one(int64_t layer, std::span<const int64_t> documents,
                               const at::Tensor& q, const at::Tensor& k,
                               const std::optional<at::Tensor>& positions, int64_t turned) {
  if (layer < 0 || layer >= config_.n_layers) {
    throw UsageError("layer {}: expected one from 0 to {}", layer, config_.n_layers - 1);
  }
  const int64_t tokens = q.dim() == 3 ? q.size(1) : 0;
  require_shape(q, "q", config_.n_q_heads, tokens, config_.d_head);
  require_shape(k, "k", config_.n_kv_heads, tokens, config_.d_head);
  if (tokens == 0) throw UsageError("document {} has no tokens", documents[0]);
  if (positions && (positions->dim() != 1 || positions->size(0) != tokens)) {
    throw UsageError("positions: found a tensor of {}, expected one of [{}]",
                     positions->sizes().vec(), tokens);
  }
  require_new_documents(layer, documents);
  DocumentPositions& at = positions_of(tokens, positions);
  documents_[layer].insert(documents.begin(), documents.end());
  const c10::NoGradGuard no_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const ExactFloat32 exact;
  Document read;
  read.index = documents[0];
  if (const auto found = clusters_.find(read.index); found != clusters_.end()) {
    read.cluster = found->second;
  }
  const at::Tensor queries = plain(q), keys = plain(k);
  const auto collect = [&](const char* point, const at::Tensor& some_q, const at::Tensor& some_k) {
    collector_.on_vectors({layer,
                           &read,
                           &at.positions,
                           point,
                           {{"q", some_q}, {"k", some_k}},
                           /*changing=*/true,
                           static_cast<int64_t>(documents.size())});
  };
  if (collector_.shape().keep.pre_rope) {
    at::Tensor before_q = queries, before_k = keys;
    const LayerConfig& settings = config_.layers[static_cast<size_t>(layer)];
    if (settings.rope) {
      const RopeTable& back = table_back(at, settings.rope_index, turned, q.device());
      rotate(before_q, before_k, back.cos, back.sin, rotary_pairs(config_, layer).interleaved);
    }
    collect(kPreRope, before_q, before_k);
  }
  collect(kPostRope, widest(q, queries), widest(k, keys));
}

void TensorCapture::require_new_documents(int64_t layer, std::span<const int64_t> documents) const {
  const auto held = documents_.find(layer);
  std::set<int64_t> here;
  for (const int64_t document : documents) {
    if (document < 0 || document > kMostDocuments) {
      throw UsageError("document {}: expected a number from 0 to {}", document, kMostDocuments);
    }
    const bool before = held != documents_.end() && held->second.contains(document);
    if (before || !here.insert(document).second) {
      throw UsageError("document {} was already added to layer {}", document, layer);
    }
  }
}

TensorCapture::DocumentPositions& TensorCapture::positions_of(
    int64_t tokens, const std::optional<at::Tensor>& given) {
  const at::Tensor wanted = given ? given->to(at::kCPU).to(at::kLong) : at::arange(tokens);
  // documents of this batch first
  for (auto known = latest_.rbegin(); known != latest_.rend(); ++known) {
    if (known->positions.tensor().equal(wanted)) return *known;
  }
  if (wanted.min().item<int64_t>() < 0) {
    throw UsageError("positions: found {}, expected numbers from 0", wanted.min().item<int64_t>());
  }
  const auto last = wanted.max().item<int64_t>();
  if (turns_ && last >= kMostPositions) {
    throw UsageError("positions: found {}, expected less than {}, because vectors are rotated back",
                     last, kMostPositions);
  }
  if (latest_.size() == kLatest) latest_.pop_front();
  return latest_.emplace_back(wanted);
}

// RoPE multiplies a pair, as a complex number, by cos + i sin, whose length is the attention
// factor; this divides by it.
const RopeTable& TensorCapture::table_back(DocumentPositions& document, int rope, int64_t turned,
                                           const at::Device& device) const {
  const auto found = document.back.find({rope, turned});
  if (found != document.back.end() && found->second.cos.device() == device) return found->second;
  const at::Tensor& positions = document.positions.tensor();
  const auto own = positions.max().item<int64_t>() + 1;
  const RopeTable all =
      make_rope_table(config_.ropes[static_cast<size_t>(rope)], std::max(own, turned), at::kCPU);
  const at::Tensor cos = all.cos.index_select(0, positions);
  const at::Tensor sin = all.sin.index_select(0, positions);
  const at::Tensor squared = cos.square() + sin.square();
  RopeTable back{(cos / squared).to(device), (-sin / squared).to(device)};
  return document.back.insert_or_assign({rope, turned}, std::move(back)).first->second;
}

CaptureMoments TensorCapture::layer(int64_t number) {
  collector_.fetch();
  CaptureInfo info;
  info.ropewalk = version();
  Json described = describe_config(config_);
  if (!turns_) described.erase("rope");  // it is unknown how RoPE rotated the vectors
  info.config = std::move(described);
  info.accumulators = kept_records(collector_.shape());
  info.context = context_;
  info.point = kPostRope;
  info.blocks = collector_.blocks();
  CaptureMoments moments =
      layer_moments(collector_, number, collector_.layers().at(number), std::move(info));
  if (const auto read = documents_.find(number); read != documents_.end()) {
    for (const int64_t document : read->second) moments.documents.push_back({document});
  }
  moments.info.documents = moments.counts.total_documents();
  moments.info.tokens = moments.counts.total_tokens();
  moments.info.corpus = documents_digest(moments.documents);
  return moments;
}

CaptureMoments TensorCapture::moments() {
  std::vector<CaptureMoments> layers;
  for (const auto& [number, documents] : documents_) {
    layers.push_back(layer(number));
    const CaptureMoments &first = layers.front(), &next = layers.back();
    if (next.documents == first.documents && next.counts == first.counts) continue;
    throw UsageError(
        "layer {} holds {} documents of {} tokens, layer {} holds {} of {}: expected the same "
        "documents in every layer",
        number, next.documents.size(), next.info.tokens, documents_.begin()->first,
        first.documents.size(), first.info.tokens);
  }
  return layers.empty() ? layer(0) : join_layers(std::move(layers));
}

std::set<int64_t> TensorCapture::fetch_finite() {
  const std::set<int64_t> blocks = collector_.fetch_finite();
  for (const int64_t block : blocks) leave_out(block);
  return blocks;
}

void TensorCapture::leave_out(int64_t block) {
  collector_.leave_out(block);
  for (auto& [number, documents] : documents_) {
    std::erase_if(documents,
                  [&](int64_t document) { return document % collector_.blocks() == block; });
  }
}

std::unique_ptr<TensorCapture> TensorCapture::join(const SharedBatches& shared,
                                                   const std::vector<int64_t>& layers,
                                                   const TensorShape& shape,
                                                   const Communicator& processes) const {
  std::unique_ptr<TensorCapture> joint;
  if (processes.first()) {
    TensorShape joined = shape;
    joined.blocks = shared.blocks;
    joint = std::make_unique<TensorCapture>(joined);
  }
  for (const int64_t number : layers) {
    join_batches(shared, number, collector_, joint ? &joint->collector_ : nullptr, processes);
    if (!joint) continue;
    std::set<int64_t>& documents = joint->documents_[number];
    for (size_t i = 0; i < shared.documents.size(); ++i) {
      const std::vector<int64_t> some = shared.document_numbers(static_cast<int64_t>(i));
      documents.insert(some.begin(), some.end());
    }
  }
  return joint;
}

}  // namespace ropewalk
