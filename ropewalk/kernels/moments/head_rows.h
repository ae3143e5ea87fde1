#pragma once

#include "ropewalk/kernels/moments/rows.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Gives vectors [heads, T, d] of any float dtype and layout to CPU kernels; copies them where their
// numbers do not lie side by side.
class HeadRows {
 public:
  explicit HeadRows(const at::Tensor& x) : x_(x) {
    if (x.scalar_type() != at::kFloat && x.scalar_type() != at::kBFloat16) x_ = x.to(at::kFloat);
    if (x_.stride(2) != 1) x_ = x_.contiguous();
  }

  NumberRows rows(int64_t head, int64_t from, int64_t to) const {
    const int64_t offset = head * x_.stride(0) + from * x_.stride(1);
    return {static_cast<const char*>(x_.const_data_ptr()) + offset * x_.element_size(),
            x_.scalar_type() == at::kBFloat16, to - from, x_.stride(1)};
  }

 private:
  at::Tensor x_;
};

}  // namespace ropewalk
