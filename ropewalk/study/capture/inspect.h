#pragma once

#include <string>

#include "ropewalk/base/files/json.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Bytes the vectors writer may hold before it writes.
inline constexpr int64_t kVectorsBuffer = int64_t{16} << 20;

// What `ropewalk inspect` shows: describe_config plus weights, memory and cost for one document of
// the context. All sizes in bytes.
Json inspect_model(const OpenModel& model);

// Parts of that: floating-point operations, which take no weights to know; bytes of weights as they
// are computed with.
double flops_per_document(const OpenModel& model);
int64_t needed_weights(const OpenModel& model);

// The same for people.
std::string format_inspection(const Json& inspection);

}  // namespace ropewalk
