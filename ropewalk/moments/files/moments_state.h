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

// The contents of a collector between two groups of documents, float64, from which an interrupted
// capture resumes and ends with the same bits. `identity` says what is measured (capture_info.h);
// `read` are the documents so far, in order. Written atomically.
struct StateInfo {
  Json identity;
  int64_t documents = 0;  // number read
  double seconds = 0;     // spent on measuring them
  // The digests of its documents, in order, where the state was read.
  std::vector<uint64_t> digests = {};
};
// `values` are the values of each of these documents.
void save_state(const std::filesystem::path& path, const MomentsCollector& collector,
                const StateInfo& info, std::span<const Document> read,
                const std::vector<DocumentValues>& values = {});

// Reads what a saved state says about itself; returns nothing where there is no such file, or it is
// damaged or of another program.
std::optional<StateInfo> read_state_info(const std::filesystem::path& path);

// Fills a fresh collector and returns the number of documents read. Returns 0 and leaves the
// collector untouched where there is no such file, it measures something else, it is damaged, or it
// did not read exactly the first of `documents`. `values` receives the saved values of these
// documents.
int64_t restore_state(const std::filesystem::path& path, MomentsCollector& collector,
                      const Json& identity, std::span<const Document> documents,
                      std::vector<DocumentValues>* values = nullptr);

// The state of a capture whose numbers another process holds (backend: transformers): the moments
// file of its first documents, `read`, as one tensor. read_state_info() reads it too.
void save_part(const std::filesystem::path& path, const std::filesystem::path& moments,
               const StateInfo& info, std::span<const Document> read);
// Writes that moments file to `to` and returns the number of its documents; returns 0 where
// restore_state() would.
int64_t restore_part(const std::filesystem::path& path, const Json& identity,
                     std::span<const Document> documents, const std::filesystem::path& to);

}  // namespace ropewalk
