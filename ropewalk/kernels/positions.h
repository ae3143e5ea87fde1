#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Positions of a document's tokens, and what moments need of them. Documents of one length can
// share theirs.
class Positions {
 public:
  explicit Positions(const at::Tensor& positions);  // [T], integers on any device
  // 0 … tokens - 1
  static Positions counted(int64_t tokens);

  const at::Tensor& tensor() const { return positions_; }  // [T] int64, on the CPU
  int64_t tokens() const { return positions_.size(0); }
  double mean() const { return mean_; }
  double scatter() const { return scatter_; }        // sum of (t - mean)^2
  bool consecutive() const { return consecutive_; }  // each is one more than the one before

  // Of runs of `size` tokens each, but for the last.
  struct Chunks {
    int64_t size = 0;
    at::Tensor offset;  // [T] float32: t less its chunk's mean
    at::Tensor middle;  // [chunks] float64: the mean of each
  };
  // On `device`; made once.
  const Chunks& chunks(int64_t size, const at::Device& device) const;

  // Its tokens in two parts: those at positions below `first`, and the others.
  struct Parts {
    int64_t first = 0;
    at::Tensor early;  // [..] int64: places of tokens in the document
    at::Tensor late;
    bool ordered = true;                     // the early ones come before the others
    std::shared_ptr<const Positions> after;  // of the late ones

    at::Tensor early_of(const at::Tensor& x) const;  // x: [heads, T, d]
    at::Tensor late_of(const at::Tensor& x) const;
  };
  // Made once.
  const Parts& parts(int64_t first) const;

 private:
  at::Tensor positions_;
  double mean_ = 0;
  double scatter_ = 0;
  bool consecutive_ = true;
  mutable std::list<Chunks> chunks_;
  mutable std::list<Parts> parts_;
};

}  // namespace ropewalk
