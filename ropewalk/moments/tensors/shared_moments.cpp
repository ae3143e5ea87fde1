#include "ropewalk/moments/tensors/shared_moments.h"

#include <c10/core/Event.h>

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/moments/collectors/join_batches.h"
#include "ropewalk/moments/files/merge.h"

namespace ropewalk {
namespace {

std::set<int64_t> indices_of(const CaptureMoments& moments) {
  std::set<int64_t> indices;
  for (const DocumentRecord& document : moments.documents) indices.insert(document.index);
  return indices;
}

std::vector<int64_t> next_of(const TensorShape& shape, const std::set<int64_t>& documents) {
  return std::vector<int64_t>(static_cast<size_t>(shape.layers),
                              documents.empty() ? 0 : *documents.rbegin() + 1);
}

}  // namespace

SharedMoments::SharedMoments(const TensorShape& shape)
    : shape_(shape), context_(shape.context), live_(std::make_unique<TensorCapture>(shape)) {
  next_ = next_of(shape, {});
}

SharedMoments::SharedMoments(CaptureMoments before, const TensorShape& shape)
    : shape_(shape),
      before_(std::move(before)),
      former_(indices_of(*before_)),
      context_(shape.context),
      next_(next_of(shape, former_)) {}

SharedMoments::SharedMoments(const TensorShape& shape, std::unique_ptr<TensorCapture> live)
    : shape_(shape), context_(shape.context), live_(std::move(live)), next_(next_of(shape, {})) {}

TensorCapture& SharedMoments::live() {
  if (!live_) {
    TensorShape shape = shape_;
    shape.context = context_;
    live_ = std::make_unique<TensorCapture>(shape);
  }
  return *live_;
}

void SharedMoments::require_unbroken() const {
  if (broken_.empty()) return;
  throw UsageError("these moments hold part of a batch that failed; start new ones ({})", broken_);
}

void SharedMoments::require_complete() const {
  const std::lock_guard lock(mutex_);
  require_unbroken();
}

void SharedMoments::require_new_documents(int64_t layer, const std::vector<int64_t>& documents) {
  for (const int64_t document : documents) {
    if (former_.contains(document)) throw UsageError("document {} was already added", document);
  }
  live().require_new_documents(layer, documents);
}

void SharedMoments::follow_stream(const at::Device& device) const {
  if (!device.is_cuda()) return;
  const c10::Stream now = torch_stream(device);
  if (stream_ && *stream_ != now) mark(*stream_)->block(now);
  stream_ = now;
}

void SharedMoments::add(int64_t layer, const std::optional<std::vector<int64_t>>& documents,
                        const at::Tensor& q, const at::Tensor& k,
                        const std::optional<at::Tensor>& positions, int64_t turned) {
  if (layer < 0 || layer >= shape_.layers || q.dim() != 4 || k.dim() != 4) {
    throw UsageError(
        "layer {}, tensors of {} and {} dimensions: expected a layer from 0 to {}, and tensors of "
        "4 dimensions",
        layer, q.dim(), k.dim(), shape_.layers - 1);
  }
  // Work that waits for a GPU is done before the lock is taken.
  if (turned == 0 && !shape_.config.empty() && q.numel() > 0) {
    turned = positions ? positions->max().item<int64_t>() + 1 : q.size(2);
  }
  const std::lock_guard lock(mutex_);
  require_unbroken();
  int64_t& next = next_[static_cast<size_t>(layer)];
  std::vector<int64_t> numbers;
  for (int64_t row = 0; !documents && row < q.size(0); ++row) numbers.push_back(next + row);
  if (documents) numbers = *documents;
  const auto rows = static_cast<int64_t>(numbers.size());
  if (q.size(0) != rows || k.size(0) != rows) {
    throw UsageError("{} documents: found {} rows of queries and {} of keys", rows, q.size(0),
                     k.size(0));
  }
  for (const at::Device& device : {q.device(), k.device()}) {
    if (device_.value_or(device) == device) continue;
    throw UsageError("q or k is on {}, earlier vectors are on {}; expected one device",
                     device.str(), device_->str());
  }
  require_new_documents(layer, numbers);
  follow_stream(q.device());
  for (int64_t row = 0, count = 0; row < rows; row += count) {
    std::span<const int64_t> some = std::span(numbers).subspan(static_cast<size_t>(row));
    count = live().together(some, q, k);
    some = some.first(static_cast<size_t>(count));
    const auto these = [&](const at::Tensor& all) { return all.narrow(0, row, count); };
    std::optional<at::Tensor> t = positions;
    if (positions && positions->dim() == 2) t = these(*positions);
    try {
      live().add(layer, some, these(q), these(k), t, turned);
    } catch (const UsageError& error) {  // nothing of these rows was added
      if (row > 0) broken_ = error.what();
      throw;
    } catch (const std::exception& error) {
      broken_ = error.what();
      throw;
    }
    device_ = q.device();
    next = std::max(next, *std::max_element(some.begin(), some.end()) + 1);
  }
}

int64_t SharedMoments::next_document() const {
  const std::lock_guard lock(mutex_);
  return *std::max_element(next_.begin(), next_.end());
}

void SharedMoments::set_context(int64_t context) {
  const std::lock_guard lock(mutex_);
  context_ = context;
  if (live_) live_->set_context(context);
}

std::set<int64_t> SharedMoments::fetch_finite() {
  const std::lock_guard lock(mutex_);
  return live().fetch_finite();
}

void SharedMoments::leave_out(int64_t block) {
  const std::lock_guard lock(mutex_);
  live().leave_out(block);
}

std::unique_ptr<SharedMoments> SharedMoments::join(const SharedBatches& shared,
                                                   const std::vector<int64_t>& layers,
                                                   const Communicator& processes) {
  const std::lock_guard lock(mutex_);
  require_unbroken();
  TensorShape joint = shape_;
  joint.blocks = shared.blocks;
  joint.context = context_;
  std::unique_ptr<TensorCapture> live = this->live().join(shared, layers, joint, processes);
  if (!live) return nullptr;
  return std::unique_ptr<SharedMoments>(new SharedMoments(joint, std::move(live)));
}

CaptureMoments SharedMoments::all() const {
  const std::lock_guard lock(mutex_);
  require_unbroken();
  if (!live_) return *before_;
  if (device_) follow_stream(*device_);
  CaptureMoments added = live_->moments();
  if (added.documents.empty()) return before_ ? *before_ : copy_of(std::move(added));
  if (!before_) return added;
  CaptureMoments sum = copy_of(*before_);
  join_capture(sum, std::move(added));
  return sum;
}

CaptureMoments sum_of(const SharedMoments& one, const SharedMoments& other, bool renumber) {
  CaptureMoments whole = copy_of(one.all()), part = copy_of(other.all());
  require_mergeable(whole.info, "the moments left of '+'", part.info, "those right of it");
  const std::set<int64_t> held = indices_of(whole);
  int64_t shift = 0;
  if (renumber && !held.empty()) shift = (*held.rbegin() / whole.blocks() + 1) * whole.blocks();
  for (DocumentRecord& document : part.documents) {
    document.index += shift;
    if (document.index > kMostDocuments) {
      throw UsageError(
          "document {} would become document {}, expected at most {}; give both moments document "
          "numbers of their own",
          document.index - shift, document.index, kMostDocuments);
    }
    if (!held.contains(document.index)) continue;
    throw UsageError("both hold document {}; expected sums of different documents", document.index);
  }
  join_capture(whole, std::move(part));
  return whole;
}

}  // namespace ropewalk
