#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/moments/files/moments_file.h"

namespace ropewalk {

// Adds a capture to another of the same model, measured in the same way on other documents.
void join_capture(CaptureMoments& whole, CaptureMoments part);

// Gives a capture what another one, measured in the same way on the same documents, kept under
// these names, in place of what it has of them. Throws InputError where the documents are others.
void add_kept(CaptureMoments& whole, CaptureMoments part, const std::set<std::string>& names);

struct MergeInput {
  std::string name;  // for messages
  std::filesystem::path file;
  std::optional<CaptureNames> names = {};  // where they are others now than in the file
};

// Joins captures of one model on different documents. Everything that decides what a number means
// must agree; a difference, or a document present twice, is an InputError naming the field and both
// sources. Inputs are added in order of their lowest document index, so their order here does not
// matter; one at a time is in memory, beside their sum. `missing` gets what they together visibly
// lack of the documents they were dealt from, in words: shards, or documents between others; empty
// where there is nothing.
CaptureMoments merge_moments(const std::vector<MergeInput>& inputs, std::string& missing);

}  // namespace ropewalk
