#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/tap.h"

namespace ropewalk {

// What leaves a layer for the next one.
struct Hidden {
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
  virtual void on_vectors(const Taken& taken) { (void)taken; }

  // The residual stream, once for every document. Nothing leaves a layer of which only queries and
  // keys are needed.
  virtual bool wants_hidden(int64_t layer) const {
    (void)layer;
    return false;
  }
  virtual void on_hidden(const Hidden& hidden) { (void)hidden; }

  // What each token of a document predicts, in order, some tokens at a time.
  virtual bool wants_logits() const { return false; }
  virtual void on_logits(const Logits& logits) { (void)logits; }

  // Bytes of the device that it may hold while it is shown a document of so many tokens, beyond
  // what it keeps.
  virtual int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
    (void)tokens, (void)dtype, (void)device;
    return 0;
  }
};

}  // namespace ropewalk
