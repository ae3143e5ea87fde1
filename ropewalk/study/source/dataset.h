#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/hub/hub.h"
#include "ropewalk/text/corpus.h"

namespace ropewalk {

// A dataset of the Hub as a user names it.
struct DatasetName {
  std::string id;      // "org/name"
  std::string config;  // empty: the default one
  std::string split;   // empty: the only one
  std::string revision = "main";
};

// One split of it, at the commit that its revision was at when found.
struct Dataset {
  DatasetName name;  // with its config and split filled in
  HubRepository repository;
  std::string commit;  // of the files: the revision's, or that of the Hub's converted Parquet
  bool converted = false;
  std::vector<HubFile> files;  // in the order of reading

  std::string title() const;  // "org/name, split test"
  Json describe() const;      // for the manifest
};

// Finds the files of a split as the `datasets` library does: by `configs` in the card, else by the
// names of files, else in the branch of Parquet that the Hub converts datasets to. Reads the card
// and lists of files alone. Throws InputError where there is no such configuration or split, naming
// those that are there.
Dataset find_dataset(Hub& hub, const DatasetName& name);

// Reads its entries. What is not in the cache comes as it is needed, in parts, and is kept in them;
// `bytes_requested` says how many bytes came so far.
struct OpenDataset {
  std::unique_ptr<CorpusReader> entries;
  std::function<int64_t()> bytes_requested;
};
OpenDataset open_dataset(Hub& hub, const Dataset& dataset, const CorpusOptions& options);

}  // namespace ropewalk
