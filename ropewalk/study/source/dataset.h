#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/hub/hub.h"
#include "ropewalk/text/corpus.h"

namespace ropewalk {

// A dataset on the Hub, as a user names it.
struct DatasetName {
  std::string id;      // "org/name"
  std::string config;  // empty: the default one
  std::string split;   // empty: the only one
  std::string revision = "main";
};

// One split of a dataset, at the commit to which its revision pointed when it was found.
struct Dataset {
  DatasetName name;  // with config and split filled in
  HubRepository repository;
  // commit of the files: the revision's, or that of the Hub's converted Parquet
  std::string commit;
  bool converted = false;
  std::vector<HubFile> files;  // in the order of reading

  std::string title() const;  // "org/name, split test"
  Json describe() const;      // for the manifest
};

// Finds the files of a split like the `datasets` library does: by `configs` in the card, else by
// the names of files, else in the branch with the Hub's converted Parquet. Only the card and lists
// of files are read. Throws InputError where the configuration or split does not exist, with a list
// of those that do.
Dataset find_dataset(Hub& hub, const DatasetName& name);

// Reads the entries of a dataset. Parts that are not in the cache are downloaded when they are
// needed, and stored there; `bytes_requested` counts the downloaded bytes.
struct OpenDataset {
  std::unique_ptr<CorpusReader> entries;
  std::function<int64_t()> bytes_requested;
};
OpenDataset open_dataset(Hub& hub, const Dataset& dataset, const CorpusOptions& options);

}  // namespace ropewalk
