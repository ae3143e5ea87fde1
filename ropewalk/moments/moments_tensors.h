#pragma once

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// What the writer and the reader of moments files share.

inline constexpr const char* kMomentsInfoKey = "ropewalk";  // of the metadata

inline const char* type_name(at::ScalarType type) {
  return type == at::kHalf ? "F16" : type == at::kFloat ? "F32" : type == at::kLong ? "I64" : "F64";
}

}  // namespace ropewalk
