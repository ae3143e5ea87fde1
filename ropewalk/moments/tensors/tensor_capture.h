#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/files/capture_moments.h"
#include "ropewalk/moments/tensors/tensor_shape.h"

namespace ropewalk {

class Communicator;
struct SharedBatches;

// Measures queries and keys that the caller computed, of a model that it trains or that another
// library runs. The caller's settings of torch (autograd, autocast, TF32) have no effect and are
// not changed. For one thread at a time; SharedMoments (shared_moments.h) is for several.
class TensorCapture {
 public:
  // Throws UsageError where the sizes do not fit together.
  explicit TensorCapture(const TensorShape& shape);

  // Adds one document's vectors in one layer, as in the dot product: q [q_heads, T, head_dim] and k
  // [kv_heads, T, head_dim], of any floating type, on any device (float64 on a GPU is rounded to
  // float32). `positions`: [T], integers; default: 0 … T - 1. The caller numbers documents from 0:
  // document i belongs to block i modulo `blocks`. `turned`: the number of tokens that RoPE was
  // chosen for, where RoPE depends on a length: that of the longest document of a batch; 0: the
  // document's own. Throws UsageError for other shapes and for a document that the layer already
  // has, and then adds nothing; throws InputError on values that are not finite.
  void add(int64_t layer, int64_t document, const at::Tensor& q, const at::Tensor& k,
           const std::optional<at::Tensor>& positions = {}, int64_t turned = 0);

  // Adds several documents together: rows of q [rows, q_heads, T, head_dim] and of k, as many as
  // together() allows. `positions`: [T] or [rows, T].
  void add(int64_t layer, std::span<const int64_t> documents, const at::Tensor& q,
           const at::Tensor& k, const std::optional<at::Tensor>& positions = {},
           int64_t turned = 0);
  // The number of documents, from the first one on, that can be added together: those of one block
  // whose rows are contiguous in memory. A GPU then gets one request instead of one per row. The
  // number is limited to the tokens of a long document, because the workspace grows with them.
  int64_t together(std::span<const int64_t> documents, const at::Tensor& q,
                   const at::Tensor& k) const;

  // Throws where add() would, for documents that a layer already has or that are given twice.
  void require_new_documents(int64_t layer, std::span<const int64_t> documents) const;
  // Sets the most tokens per document, where that became known later.
  void set_context(int64_t context) { context_ = context; }

  // Copies numbers on a GPU to the host. Throws InputError on values that are not finite.
  void fetch() { collector_.fetch(); }
  // The numbers of a layer so far, for analyze_capture (analysis/analyze/analyze_capture.h).
  CaptureMoments layer(int64_t number);
  // The numbers of all layers that were given documents, for write_moments and merge. Throws
  // UsageError where layers have read different documents.
  CaptureMoments moments();
  // fetch() that leaves out blocks with values that are not finite, and returns their numbers.
  // Nothing may be added afterwards.
  std::set<int64_t> fetch_finite();
  // Forgets the documents of a block. Sums without blocks (moments/accumulators/accumulator.h) keep
  // their part of it.
  void leave_out(int64_t block);
  // Joins the batches of all processes, each of which has batch j in block j, in these layers: in
  // the first process; returns null elsewhere. Collective like join_batches().
  std::unique_ptr<TensorCapture> join(const SharedBatches& shared,
                                      const std::vector<int64_t>& layers, const TensorShape& shape,
                                      const Communicator& processes) const;

 private:
  // The positions of a document, and the tables that turn its vectors back, by RoPE of the model,
  // made on demand.
  struct DocumentPositions {
    explicit DocumentPositions(const at::Tensor& given) : positions(given) {}
    Positions positions;
    // By RoPE and the number of tokens that it is chosen for.
    std::map<std::pair<int, int64_t>, RopeTable> back;
  };
  void add_as_one(int64_t layer, std::span<const int64_t> documents, const at::Tensor& q,
                  const at::Tensor& k, const std::optional<at::Tensor>& positions, int64_t turned);
  DocumentPositions& positions_of(int64_t tokens, const std::optional<at::Tensor>& given);
  const RopeTable& table_back(DocumentPositions& document, int rope, int64_t turned,
                              const at::Device& device) const;

  bool turns_;  // whether it is known how RoPE rotated the vectors
  ModelConfig config_;
  int64_t context_;
  std::map<int64_t, int64_t> clusters_;  // of documents
  MomentsCollector collector_;
  std::map<int64_t, std::set<int64_t>> documents_;  // by layer
  std::list<DocumentPositions> latest_;  // shared by the other layers, together with the tables
};

}  // namespace ropewalk
