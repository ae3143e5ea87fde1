#pragma once

#include <c10/core/Stream.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/moments/tensors/tensor_capture.h"

namespace ropewalk {

class Communicator;

// Moments that several threads add to and read; calls are serialised. An error that leaves part of
// a batch in the sums (for example a value that is not finite) makes every later add() and all() a
// UsageError.
class SharedMoments {
 public:
  // Empty moments. Throws UsageError where TensorCapture does.
  explicit SharedMoments(const TensorShape& shape);
  // The moments of a file or a sum; `shape` describes them.
  SharedMoments(CaptureMoments before, const TensorShape& shape);

  // The shape, without the context, which may become known later.
  const TensorShape& shape() const { return shape_; }

  // Adds a batch to one layer: q [rows, q_heads, T, head_dim], k [rows, kv_heads, T, head_dim],
  // whose rows are the documents of these numbers; without numbers, the layer's next ones, in the
  // order in which threads arrive. `positions`: [T] or [rows, T], default 0 … T - 1. `turned`: the
  // number of tokens that RoPE was chosen for; 0: that of the longest row. On a GPU the work runs
  // on the thread's stream, after that of earlier streams. Throws where TensorCapture does, and
  // UsageError for vectors on another device than earlier ones.
  void add(int64_t layer, const std::optional<std::vector<int64_t>>& documents, const at::Tensor& q,
           const at::Tensor& k, const std::optional<at::Tensor>& positions = {},
           int64_t turned = 0);
  // One more than the highest document number of any layer; 0 at first.
  int64_t next_document() const;

  // Throws the UsageError that the class comment describes.
  void require_complete() const;
  // Sets the most tokens per document, where that became known later.
  void set_context(int64_t context);
  // As in TensorCapture, for moments whose blocks are batches. Numbers on a GPU are copied to the
  // host on this thread's stream, after what other streams added.
  std::set<int64_t> fetch_finite();
  void leave_out(int64_t block);
  std::unique_ptr<SharedMoments> join(const SharedBatches& shared,
                                      const std::vector<int64_t>& layers,
                                      const Communicator& processes);

  // Everything so far. Later additions do not change it, and callers must not change it.
  CaptureMoments all() const;

 private:
  SharedMoments(const TensorShape& shape, std::unique_ptr<TensorCapture> live);
  TensorCapture& live();
  void require_unbroken() const;
  void require_new_documents(int64_t layer, const std::vector<int64_t>& documents);
  // Kernels of one stream run in order; kernels of another stream wait for them here.
  void follow_stream(const at::Device& device) const;

  const TensorShape shape_;
  const std::optional<CaptureMoments> before_;
  const std::set<int64_t> former_;  // its documents

  mutable std::mutex mutex_;  // guards the members below
  int64_t context_;
  std::unique_ptr<TensorCapture> live_;  // what was added
  std::vector<int64_t> next_;            // next document, by layer
  std::optional<at::Device> device_;     // of what was added
  mutable std::optional<c10::Stream> stream_;
  std::string broken_;  // the error that left part of a batch
};

// The moments of the documents of both. With `renumber`, the second ones' documents follow the
// first ones', in the same blocks. Throws InputError where the models differ, and UsageError where
// both hold a document.
CaptureMoments sum_of(const SharedMoments& one, const SharedMoments& other, bool renumber);

}  // namespace ropewalk
