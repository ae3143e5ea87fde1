#include "ropewalk/study/source/dataset_card.h"

#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  for (const DatasetConfig& config : read_dataset_card(std::string(input.bytes), "card")) {
    require(!config.name.empty() || input.bytes.find("config_name") != std::string_view::npos,
            "a configuration has a name");
  }
}
