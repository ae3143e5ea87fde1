#pragma once

#include <cstdint>
#include <list>
#include <memory>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The positions of a document's tokens, and what moments need of them. Documents of one length can
// share an object.
class Positions {
 public:
  explicit Positions(const at::Tensor& positions);  // [T], integers on any device
  // 0 … tokens - 1
  static Positions counted(int64_t tokens);

  const at::Tensor& tensor() const { return positions_; }  // [T] int64, on the CPU
  int64_t tokens() const { return positions_.size(0); }
  double mean() const { return mean_; }
  double scatter() const { return scatter_; }  // sum of (t - mean)^2
  // Each position is one more than the one before.
  bool consecutive() const { return consecutive_; }

  // Runs of `size` tokens each; the last one may be shorter.
  struct Chunks {
    int64_t size = 0;
    at::Tensor offset;  // [T] float32: t minus its chunk's mean
    at::Tensor middle;  // [chunks] float64: the mean position of each chunk
  };
  // The chunks on `device`; computed once.
  const Chunks& chunks(int64_t size, const at::Device& device) const;

  // The tokens in two parts: those at positions below `first`, and the others.
  struct Parts {
    int64_t first = 0;
    at::Tensor early;  // [..] int64: indexes of tokens in the document
    at::Tensor late;
    bool ordered = true;                     // the early tokens come before the others
    std::shared_ptr<const Positions> after;  // positions of the late tokens

    at::Tensor early_of(const at::Tensor& x) const;  // x: [heads, T, d]
    at::Tensor late_of(const at::Tensor& x) const;
  };
  // Computed once.
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
