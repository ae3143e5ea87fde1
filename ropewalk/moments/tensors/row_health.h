#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Some rows of attention of a model that a caller trains, and the longest vectors of all tokens:
// how large a head's logits are, and what it attends to. Nothing waits for a GPU until numbers().
// The caller's settings of torch have no effect. For several threads.
class RowHealth {
 public:
  // Columns of numbers(): of rows a count, the largest logit of all, and sums of each row's largest
  // logit, of the entropy in nats and of what the first token gets; of all tokens the length of the
  // longest query, and of the longest key that the head reads; and the softmax scale. 0 where
  // nothing was added.
  struct Column {
    enum Place : int64_t { rows, peak, largest, entropy, sink, longest_q, longest_k, scale, count };
  };

  RowHealth(int64_t layers, int64_t q_heads);

  // Adds documents of a layer, as in the dot product: q [documents, q_heads, T, d_head] and k
  // [documents, kv_heads, T, d_head]. `positions`: [documents, T] on the CPU; where they begin anew
  // within a row, another document begins, which does not see the ones before. `wanted` rows of a
  // few documents together are computed, one in each of as many equal parts of a document.
  void add(int64_t layer, int64_t wanted, const at::Tensor& q, const at::Tensor& k,
           const at::Tensor& positions, const ScoreOptions& scores);

  at::Tensor numbers() const;  // [layers, q_heads, Column::count] float64, on the CPU

 private:
  int64_t q_heads_;
  mutable std::mutex mutex_;
  std::vector<at::Tensor> layers_;  // [q_heads, Column::count] float64; undefined: nothing yet
};

}  // namespace ropewalk
