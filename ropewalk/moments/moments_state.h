#pragma once

#include <cstdint>
#include <filesystem>

#include "ropewalk/base/json.h"
#include "ropewalk/moments/moments_collector.h"

namespace ropewalk {

// What a collector holds between two groups of documents, float64, so that an interrupted capture
// goes on from there and ends with the same bits. `info` says what is measured; `documents` is how
// many were read. Atomic.
void save_state(const std::filesystem::path& path, const MomentsCollector& collector,
                const Json& info, int64_t documents);

// Fills a fresh collector and returns the number of documents read; 0, and an untouched collector,
// where there is no such file or it belongs to something else than `info`.
int64_t restore_state(const std::filesystem::path& path, MomentsCollector& collector,
                      const Json& info);

}  // namespace ropewalk
