#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Names that the writer and the reader of moments files share.

inline constexpr const char* kMomentsInfoKey = "ropewalk";  // key of the metadata

inline const char* type_name(at::ScalarType type) {
  return type == at::kHalf ? "F16" : type == at::kFloat ? "F32" : type == at::kLong ? "I64" : "F64";
}

// The tensor of a value per document.
inline std::string document_name(const std::string& name) { return "document." + name; }

}  // namespace ropewalk
