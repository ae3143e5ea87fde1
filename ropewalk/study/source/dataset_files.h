#pragma once

#include <map>
#include <string>
#include <vector>

#include "ropewalk/hub/cache.h"

namespace ropewalk {

// Finds the files of a dataset's splits by their names, like the `datasets` library does
// (docs/hub.md). Only readable kinds of files count (text/remote_corpus.h).

using SplitFiles = std::map<std::string, std::vector<HubFile>>;

// Whether a path matches a pattern: '*', '?' and […] within a name, '**' for any folders. Hidden
// files, and files in folders that begin with "__", only match where the pattern contains such
// names.
bool matches_pattern(const std::string& path, const std::string& pattern);

// The files that match any of these patterns, without repetitions, in the order of patterns, then
// of names.
std::vector<HubFile> matching_files(const std::vector<HubFile>& files,
                                    const std::vector<std::string>& patterns);

// The splits of a repository whose card lists none, relative to `folder` (empty: the top):
// data/SPLIT-00000-of-00001…, else folders named after splits, else files, else all files as
// "train". `asked` may be any name, and is looked for like "train", "validation" and "test".
SplitFiles guess_splits(const std::vector<HubFile>& files, const std::string& folder,
                        const std::string& asked);

// The splits in the branch of converted Parquet, per configuration: CONFIG/SPLIT/0000.parquet.
std::map<std::string, SplitFiles> converted_splits(const std::vector<HubFile>& files);

// Where Parquet and JSON lines are mixed, the format with more files; Parquet where both have the
// same number.
std::vector<HubFile> files_of_one_format(const std::vector<HubFile>& files);

}  // namespace ropewalk
