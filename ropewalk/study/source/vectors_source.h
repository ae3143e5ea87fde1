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

// Captured vectors in the published layout: a folder on this machine, or a folder of a dataset on
// the Hub, at the commit to which its revision pointed when it was found.
struct VectorsSource {
  std::string title;  // as the user named it
  std::optional<HubRepository> repository;
  std::string commit;
  // folder of the streams' files; in the cache after they are fetched
  std::filesystem::path folder;
  // Files with their sizes, per stream. Names are paths, relative to the repository for the Hub.
  // The etag of a local file is unknown before digest().
  std::map<StreamKey, HubFile> streams;

  std::string name() const;  // "org/name@COMMIT" or the folder
  int64_t bytes() const;     // total size of all streams
  // A digest that identifies these vectors; reads local files.
  std::string digest() const;
};

// Lists vectors; of a dataset, only README.md is fetched. `index` is hf://datasets/… or a folder.
// Throws InputError where it has none.
VectorsSource find_vectors(const std::string& index);

// The facts that its README.md or capture.json states. Throws InputError where neither does.
VectorsFacts facts_of(const VectorsSource& source);

// Throws InputError where the keys of some queries are missing.
void require_keys(const VectorsSource& source, int64_t group);

// The bytes that are not in the cache yet; fetches them; removes them from the cache, like
// evict_weights().
int64_t missing_bytes(const Hub& hub, const VectorsSource& source);
void fetch_vectors(Hub& hub, const VectorsSource& source, const FetchOptions& options);
int64_t evict_vectors(const Hub& hub, const VectorsSource& source);

}  // namespace ropewalk
