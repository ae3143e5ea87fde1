#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/hub/hub.h"

namespace ropewalk {

// A revision of a Hub model, at the commit that was found for it, or a folder of that revision. Its
// folder in the cache is an ordinary checkpoint folder once its weights are there.
struct HubCheckpoint {
  HubRepository repository;
  std::string revision;
  std::string commit;
  std::string subfolder;  // "hf_ckpt/16.78B"; empty: the top folder
  std::filesystem::path folder;

  std::string name() const;   // "org/name@COMMIT", then "/SUBFOLDER"
  std::string title() const;  // name() with the revision, for messages
  // The path in the repository of one of its files.
  std::string inside(const std::string& file) const;
};

// Finds a revision and downloads its config.json. Throws InputError where there is none.
HubCheckpoint find_checkpoint(Hub& hub, const std::string& id, const std::string& revision,
                              const std::string& subfolder = "");

// Whether all weights are in the cache; uses no network.
bool has_weights(const Hub& hub, const HubCheckpoint& checkpoint);

// The weight files that are not in the cache yet; downloads the index, which names them.
std::vector<HubFile> missing_weights(Hub& hub, const HubCheckpoint& checkpoint);

// A digest over the name and hash of each weight file, as the Hub states them for this commit, so
// that other bytes have another digest. It downloads no weights: hashes come from the cache where
// all of them are there, else from the Hub's list of files. Empty where neither is available, for
// instance offline.
std::string stated_weights(Hub& hub, const HubCheckpoint& checkpoint);

// Downloads the weights: model.safetensors, or the shards that the index names.
void fetch_weights(Hub& hub, const HubCheckpoint& checkpoint, const FetchOptions& options);

// Downloads tokenizer.json from a folder of a repository; where there is none, the files from which
// transformers builds a tokenizer. Returns the file's path, or the folder of those files; empty
// where there are none.
std::filesystem::path fetch_tokenizer(Hub& hub, const HubRepository& repository,
                                      const std::string& commit, const std::string& folder,
                                      const FetchOptions& options);
// Downloads the tokenizer.json next to a checkpoint; returns false where there is none. Other
// tokenizer files have to be named: looking for them would cost one more request for every model.
bool fetch_tokenizer(Hub& hub, const HubCheckpoint& checkpoint);

// Removes the weights from the cache, except files that other revisions use too and files that this
// program did not download, about which it logs a line. Returns the bytes freed.
int64_t evict_weights(const Hub& hub, const HubCheckpoint& checkpoint);

}  // namespace ropewalk
