#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "ropewalk/analysis/analyze/vectors_facts.h"
#include "ropewalk/hub/hub.h"
#include "ropewalk/moments/stream_key.h"

namespace ropewalk {

// Captured vectors in the published layout: a folder, or one of a dataset on the Hub at the commit
// that its revision was at when found.
struct VectorsSource {
  std::string title;  // as the user named it
  std::optional<HubRepository> repository;
  std::string commit;
  std::filesystem::path folder;  // of the streams; in the cache once they are fetched
  // Files with their sizes, by stream. Names are those in the repository, or paths; the etag of a
  // local file is not known before digest().
  std::map<StreamKey, HubFile> streams;

  std::string name() const;  // "org/name@COMMIT" or the folder
  int64_t bytes() const;     // of all streams
  // What tells these vectors from others; reads local files.
  std::string digest() const;
};

// Lists vectors; of a dataset, README.md is fetched and nothing else. `index` is hf://datasets/…,
// or a folder. Throws InputError where it holds none.
VectorsSource find_vectors(const std::string& index);

// What its README.md or capture.json says. Throws InputError where neither does.
VectorsFacts facts_of(const VectorsSource& source);

// Throws InputError where queries are there without the keys that they meet.
void require_keys(const VectorsSource& source, int64_t group);

// Bytes that are not in the cache yet; fetching them; removing them from it, as evict_weights does.
int64_t missing_bytes(const Hub& hub, const VectorsSource& source);
void fetch_vectors(Hub& hub, const VectorsSource& source, const FetchOptions& options);
int64_t evict_vectors(const Hub& hub, const VectorsSource& source);

}  // namespace ropewalk
