#pragma once

#include <string>

#include "ropewalk/base/files/json.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Most bytes that the vectors writer collects before it writes them.
inline constexpr int64_t kVectorsBuffer = int64_t{16} << 20;

// The output of `ropewalk inspect`: describe_config plus weights, memory and cost of one document
// of the context's length. All sizes in bytes.
Json inspect_model(const OpenModel& model);

// Parts of it: floating-point operations, which can be computed without weights; and the bytes of
// weights in the dtype of the computation.
double flops_per_document(const OpenModel& model);
int64_t needed_weights(const OpenModel& model);

// The inspection as text.
std::string format_inspection(const Json& inspection);

}  // namespace ropewalk
