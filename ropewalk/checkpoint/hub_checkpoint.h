#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/hub/hub.h"

namespace ropewalk {

// A revision of a Hub model at the commit it was at when found, or a folder of it. Its folder in
// the cache is a checkpoint folder like any other once its weights are there.
struct HubCheckpoint {
  HubRepository repository;
  std::string revision;
  std::string commit;
  std::string subfolder;  // "hf_ckpt/16.78B"; empty: the top
  std::filesystem::path folder;

  std::string name() const;   // "org/name@COMMIT", then "/SUBFOLDER"
  std::string title() const;  // the same with the revision, for messages
  // The name of one of its files in the repository.
  std::string inside(const std::string& file) const;
};

// Finds a revision and fetches its config.json. Throws InputError where it has none.
HubCheckpoint find_checkpoint(Hub& hub, const std::string& id, const std::string& revision,
                              const std::string& subfolder = "");

// Whether the weights are all in the cache; asks nobody.
bool has_weights(const Hub& hub, const HubCheckpoint& checkpoint);

// The weight files that are not in the cache yet; fetches the index, which names them.
std::vector<HubFile> missing_weights(Hub& hub, const HubCheckpoint& checkpoint);

// A digest over the name and hash of each weight file, as the Hub states them for this commit:
// other bytes have another one. Downloads no weights: the cache tells, where all of them are in it,
// else the Hub's list of files. Empty where neither does, for instance offline.
std::string stated_weights(Hub& hub, const HubCheckpoint& checkpoint);

// Fetches the weights: model.safetensors, or the shards that the index names.
void fetch_weights(Hub& hub, const HubCheckpoint& checkpoint, const FetchOptions& options);

// Fetches tokenizer.json from a folder of a repository, else the files that transformers makes a
// tokenizer of. Where it is, or the folder with those; empty where there are none.
std::filesystem::path fetch_tokenizer(Hub& hub, const HubRepository& repository,
                                      const std::string& commit, const std::string& folder,
                                      const FetchOptions& options);
// Fetches the tokenizer.json beside a checkpoint; false where there is none. Others have to be
// named: looking for them would take a question more for every model.
bool fetch_tokenizer(Hub& hub, const HubCheckpoint& checkpoint);

// Removes the weights from the cache. What other revisions use too stays. What this program did not
// download also stays, with a line about it. Returns the bytes freed.
int64_t evict_weights(const Hub& hub, const HubCheckpoint& checkpoint);

}  // namespace ropewalk
