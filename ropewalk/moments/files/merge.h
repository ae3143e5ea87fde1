#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/moments/files/moments_file.h"

namespace ropewalk {

// Adds a capture to another of the same model, measured in the same way on other documents.
void join_capture(CaptureMoments& whole, CaptureMoments part);

// Replaces what a capture keeps under these names by what another one kept, which was measured in
// the same way on the same documents. Throws InputError where the documents differ.
void add_kept(CaptureMoments& whole, CaptureMoments part, const std::set<std::string>& names);

struct MergeInput {
  std::string name;  // for messages
  std::filesystem::path file;
  std::optional<CaptureNames> names = {};  // set where they have changed since the file was written
};

// Joins captures of one model on different documents. Everything that decides what a number means
// must agree; a difference, or a document present twice, is an InputError naming the field and both
// sources. Inputs are added in order of their lowest document index, so their order here does not
// matter. One input at a time is in memory, besides the sum. `missing` receives, in words, what is
// visibly missing of the documents that the inputs were dealt from: shards, or documents between
// others; it is empty where nothing is.
CaptureMoments merge_moments(const std::vector<MergeInput>& inputs, std::string& missing);

}  // namespace ropewalk
