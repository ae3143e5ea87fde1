#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/tap.h"

namespace ropewalk {

// What leaves a layer for the next one.
struct HiddenStates {
  int64_t layer = 0;
  const Document* document = nullptr;
  at::Tensor rows;  // [T, d_model], in the dtype of the pass; changes once on_hidden() returns
};

// Logits of some consecutive tokens, a part of a document: tokens × vocabulary is never held.
struct Logits {
  const Document* document = nullptr;
  int64_t begin = 0;  // the first of these tokens
  at::Tensor rows;    // [tokens, words], float32; changes once on_logits() returns
};

// The same of a pass with an edit, beside what these tokens predict without it.
struct EditedLogits {
  size_t edit = 0;  // its index among those of the pass
  Logits logits;
  at::Tensor unedited;  // [tokens, words] float32
};

// What a layer's heads give, before the output projection.
struct TappedOutputs {
  int64_t layer = 0;
  const Document* document = nullptr;
  at::Tensor rows;  // [T, n_q_heads, d_head], in the dtype of the pass
};

// Watches a pass (forward.h). Says up front what it wants, and is called for that alone; a callback
// that it does not need it leaves out.
class Observer {
 public:
  virtual ~Observer() = default;

  // Vectors inside attention. A tap of a layer comes once for every document, layer by layer within
  // a group of documents, in the order of the points.
  virtual std::vector<Tap> taps(int64_t layer) const {
    (void)layer;
    return {};
  }
  // All vectors of a point at which it has a tap.
  virtual void on_vectors(const TappedVectors& taken) { (void)taken; }

  // The residual stream, once for every document. Nothing leaves a layer of which only queries and
  // keys are needed.
  virtual bool wants_hidden(int64_t layer) const {
    (void)layer;
    return false;
  }
  virtual void on_hidden(const HiddenStates& hidden) { (void)hidden; }

  // What heads give, once for every document, where more than queries and keys is needed.
  virtual bool wants_outputs() const { return false; }
  virtual void on_outputs(const TappedOutputs& outputs) { (void)outputs; }

  // What each token of a document predicts, in order, some tokens at a time; and what it predicts
  // in the pass of each edit.
  virtual bool wants_logits() const { return false; }
  virtual void on_logits(const Logits& logits) { (void)logits; }
  virtual void on_edited_logits(const EditedLogits& logits) { (void)logits; }

  // Bytes of the device that it may hold while it is shown a document of so many tokens, beyond
  // what it keeps.
  virtual int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
    (void)tokens, (void)dtype, (void)device;
    return 0;
  }
};

}  // namespace ropewalk
