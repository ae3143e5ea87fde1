#pragma once

#include <string>
#include <utility>
#include <vector>

namespace ropewalk {

// One of the `configs` in the YAML header of a dataset's README.md.
struct DatasetConfig {
  std::string name;     // "default" where it has none
  bool chosen = false;  // it says `default: true`
  std::string folder;   // data_dir: patterns are seen from there
  // Splits in their order, each with its patterns; empty: found by the names of files.
  std::vector<std::pair<std::string, std::vector<std::string>>> splits;
};

// Reads a card. Without a header, or `configs` in it, there are none. Throws InputError naming
// `source` where the header is not what the `datasets` library takes.
std::vector<DatasetConfig> read_dataset_card(const std::string& text, const std::string& source);

}  // namespace ropewalk
