#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/tap.h"

namespace ropewalk {

// The output of a layer, which the next one reads.
struct HiddenStates {
  int64_t layer = 0;
  const Document* document = nullptr;
  at::Tensor rows;  // [T, d_model], in the dtype of the pass; changes after on_hidden() returns
};

// Logits of some consecutive tokens of a document: tokens × vocabulary is never held.
struct Logits {
  const Document* document = nullptr;
  int64_t begin = 0;  // the first of these tokens
  at::Tensor rows;    // [tokens, words], float32; changes after on_logits() returns
};

// Logits of a pass with an edit, together with those of the same tokens without it.
struct EditedLogits {
  size_t edit = 0;  // index among the edits of the pass
  Logits logits;
  at::Tensor unedited;  // [tokens, words] float32
};

// The outputs of a layer's heads, before the output projection.
struct TappedOutputs {
  int64_t layer = 0;
  const Document* document = nullptr;
  at::Tensor rows;  // [T, n_q_heads, d_head], in the dtype of the pass
};

// Observes a pass (forward.h). It says in advance what it wants and is called for that only; a
// subclass overrides only the callbacks it needs.
class Observer {
 public:
  virtual ~Observer() = default;

  // Vectors inside attention. A layer's tap is called once for every document, layer by layer
  // within a group of documents, in the order of the points.
  virtual std::vector<Tap> taps(int64_t layer) const {
    (void)layer;
    return {};
  }
  // All vectors of a point at which it has a tap.
  virtual void on_vectors(const TappedVectors& taken) { (void)taken; }

  // The residual stream, once for every document. A layer of which only queries and keys are needed
  // has no output.
  virtual bool wants_hidden(int64_t layer) const {
    (void)layer;
    return false;
  }
  virtual void on_hidden(const HiddenStates& hidden) { (void)hidden; }

  // The outputs of heads, once for every document, where more than queries and keys is needed.
  virtual bool wants_outputs() const { return false; }
  virtual void on_outputs(const TappedOutputs& outputs) { (void)outputs; }

  // The predictions of each token of a document, in order, some tokens at a time; and its
  // predictions in the pass of each edit.
  virtual bool wants_logits() const { return false; }
  virtual void on_logits(const Logits& logits) { (void)logits; }
  virtual void on_edited_logits(const EditedLogits& logits) { (void)logits; }

  // The most bytes of the device that it holds while it observes a document of that many tokens,
  // besides what it keeps.
  virtual int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
    (void)tokens, (void)dtype, (void)device;
    return 0;
  }
};

}  // namespace ropewalk
