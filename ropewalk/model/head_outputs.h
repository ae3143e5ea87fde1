#pragma once

#include <cstdint>
#include <map>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct ModelConfig;

// Sums of heads' outputs over the tokens of each document from kFirstEdited on.
class HeadOutputs {
 public:
  // Adds outputs of one document in a layer, in order: rows [T, n_q_heads, d_head].
  void add(int64_t document, int64_t layer, const at::Tensor& rows);

  // The mean over these tokens of all other documents: [n_q_heads, d_head] float32. Throws
  // UsageError where no other document has such a token.
  at::Tensor mean_of_others(int64_t document, int64_t layer) const;
  // The mean over these tokens of this document, float64.
  at::Tensor mean(int64_t document, int64_t layer) const;

  // The bytes of CPU memory that it holds, and that it will hold for that many documents.
  int64_t bytes() const;
  static int64_t bytes_of(const ModelConfig& config, int64_t documents);

 private:
  struct Sum {
    at::Tensor outputs;  // [n_q_heads, d_head] float64
    int64_t tokens = 0;
  };
  struct Layer {
    std::map<int64_t, Sum> documents;
    Sum all;
  };
  std::map<int64_t, Layer> layers_;
};

}  // namespace ropewalk
