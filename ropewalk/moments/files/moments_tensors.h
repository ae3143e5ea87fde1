#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// What the writer and the reader of moments files share.

inline constexpr const char* kMomentsInfoKey = "ropewalk";  // of the metadata

inline const char* type_name(at::ScalarType type) {
  return type == at::kHalf ? "F16" : type == at::kFloat ? "F32" : type == at::kLong ? "I64" : "F64";
}

// The tensor of what was measured of each document.
inline std::string document_name(const std::string& name) { return "document." + name; }

}  // namespace ropewalk
