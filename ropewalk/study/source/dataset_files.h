#pragma once

#include <map>
#include <string>
#include <vector>

#include "ropewalk/hub/cache.h"

namespace ropewalk {

// Which files of a repository are a dataset's splits, told by their names as the `datasets` library
// does (docs/hub.md). Only files that can be read count (text/remote_corpus.h).

using SplitFiles = std::map<std::string, std::vector<HubFile>>;

// Whether a path matches a pattern: '*', '?' and […] within a name, '**' for any folders. Hidden
// files, and those in folders that begin with "__", match only where the pattern names them so.
bool matches_pattern(const std::string& path, const std::string& pattern);

// The files that match any of these, in the order of patterns, then of names; each once.
std::vector<HubFile> matching_files(const std::vector<HubFile>& files,
                                    const std::vector<std::string>& patterns);

// The splits of a repository whose card names none, seen from `folder` (empty: its top):
// data/SPLIT-00000-of-00001…, else folders named after splits, else files, else all as "train".
// `asked` may be any name, and is looked for like "train", "validation" and "test".
SplitFiles guess_splits(const std::vector<HubFile>& files, const std::string& folder,
                        const std::string& asked);

// The splits of a configuration in the branch of converted Parquet: CONFIG/SPLIT/0000.parquet. By
// configuration.
std::map<std::string, SplitFiles> converted_splits(const std::vector<HubFile>& files);

// Of Parquet and JSON lines that lie side by side, those that are more; Parquet of as many.
std::vector<HubFile> files_of_one_format(const std::vector<HubFile>& files);

}  // namespace ropewalk
