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

// Moments that grow while several threads add to them, and read them: calls are done one after the
// other, each as a whole. An error that leaves part of a batch in the sums (a value that is not
// finite, say) makes every later add() and all() a UsageError.
class SharedMoments {
 public:
  // Empty ones. Throws UsageError as TensorCapture does.
  explicit SharedMoments(const TensorShape& shape);
  // Those of a file or a sum; `shape` describes them.
  SharedMoments(CaptureMoments before, const TensorShape& shape);

  // Without the context, which may become known later.
  const TensorShape& shape() const { return shape_; }

  // Adds a batch to one layer: q [rows, q_heads, T, head_dim], k [rows, kv_heads, T, head_dim], the
  // rows of which are documents of these numbers; without numbers, the layer's next ones, in the
  // order in which threads come. `positions`: [T] or [rows, T], default 0 … T - 1. `turned`: tokens
  // that RoPE was chosen for; 0: of the longest row. On a GPU the work goes to the thread's stream,
  // behind that of the streams before it. Throws as TensorCapture does, and UsageError on vectors
  // of another device than those before.
  void add(int64_t layer, const std::optional<std::vector<int64_t>>& documents, const at::Tensor& q,
           const at::Tensor& k, const std::optional<at::Tensor>& positions = {},
           int64_t turned = 0);
  // One more than the highest number of any layer's documents; 0 at first.
  int64_t next_document() const;

  // Throws the UsageError of which the class speaks.
  void require_complete() const;
  // Tokens per document at most, where that became known later.
  void set_context(int64_t context);
  // As TensorCapture's, for moments whose blocks are batches. What a GPU holds comes to the host on
  // the stream of this thread; what was added on others is done there.
  std::set<int64_t> fetch_finite();
  void leave_out(int64_t block);
  std::unique_ptr<SharedMoments> join(const SharedBatches& shared,
                                      const std::vector<int64_t>& layers,
                                      const Communicator& processes);

  // Everything so far. What is added later does not change it; it is not to be changed either.
  CaptureMoments all() const;

 private:
  SharedMoments(const TensorShape& shape, std::unique_ptr<TensorCapture> live);
  TensorCapture& live();
  void require_unbroken() const;
  void require_new(int64_t layer, const std::vector<int64_t>& documents);
  // Kernels of one stream follow each other; those of another one wait for them here.
  void follow_stream(const at::Device& device) const;

  const TensorShape shape_;
  const std::optional<CaptureMoments> before_;
  const std::set<int64_t> former_;  // its documents

  mutable std::mutex mutex_;  // of all that follows
  int64_t context_;
  std::unique_ptr<TensorCapture> live_;  // what was added
  std::vector<int64_t> next_;            // document, by layer
  std::optional<at::Device> device_;     // of what was added
  mutable std::optional<c10::Stream> stream_;
  std::string broken_;  // the error that left part of a batch
};

// Moments of the documents of both. `renumber`: those of the second follow those of the first, in
// the same blocks. Throws InputError on those of another model, and UsageError on a document that
// both hold.
CaptureMoments sum_of(const SharedMoments& one, const SharedMoments& other, bool renumber);

}  // namespace ropewalk
