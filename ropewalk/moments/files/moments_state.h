#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "ropewalk/base/files/json.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/document_values.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// What a collector holds between two groups of documents, float64, so that an interrupted capture
// goes on from there and ends with the same bits. `identity` says what is measured
// (capture_info.h); `read` are the documents read so far, in order. Atomic.
struct StateInfo {
  Json identity;
  int64_t documents = 0;  // read
  double seconds = 0;     // of measuring them
  // Of a state that was read: the digests of its documents, in order.
  std::vector<uint64_t> digests = {};
};
// `values`: what was measured of each of these documents besides.
void save_state(const std::filesystem::path& path, const MomentsCollector& collector,
                const StateInfo& info, std::span<const Document> read,
                const std::vector<DocumentValues>& values = {});

// What a saved state says of itself; nothing where there is no such file, or it is damaged or not
// one of ours.
std::optional<StateInfo> read_state_info(const std::filesystem::path& path);

// Fills a fresh collector and returns the number of documents read; 0, and an untouched collector,
// where there is no such file, it measures something else, is damaged, or did not read just the
// first of `documents`. `values` gets what was saved of those besides.
int64_t restore_state(const std::filesystem::path& path, MomentsCollector& collector,
                      const Json& identity, std::span<const Document> documents,
                      std::vector<DocumentValues>* values = nullptr);

}  // namespace ropewalk
