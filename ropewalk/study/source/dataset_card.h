#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// One entry of `configs` in the YAML header of a dataset's README.md.
struct DatasetConfig {
  std::string name;     // "default" where the entry has no name
  bool chosen = false;  // the entry says `default: true`
  std::string folder;   // data_dir: patterns are relative to it
  // Splits in their order, each with its patterns; empty: splits are found by file names.
  std::vector<std::pair<std::string, std::vector<std::string>>> splits;
};

// Reads a card. The result is empty without a header, or without `configs` in it. Throws InputError
// naming `source` where the `datasets` library would not accept the header.
std::vector<DatasetConfig> read_dataset_card(const std::string& text, const std::string& source);

}  // namespace ropewalk
