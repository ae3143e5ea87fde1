#include "ropewalk/study/source/dataset_card.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

constexpr int kMostValues = 100000;           // aliases can repeat values endlessly
constexpr size_t kLongest = size_t{4} << 20;  // bytes

// The text between the first line, "---", and the next such line; empty: the card has no header.
std::string header_of(const std::string& text) {
  std::istringstream lines(text);
  std::string header;
  bool open = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (line == "---") {
      if (open) return header;
      open = true;
    } else if (!open) {
      break;
    } else {
      header += line + "\n";
    }
  }
  return "";
}

// Reads the list of configs; every node is checked before it is used.
class CardReader {
 public:
  explicit CardReader(const std::string& source) : source_(source) {}

  std::vector<DatasetConfig> read(const YAML::Node& list) const {
    require(list.IsSequence(), "configs: expected a list");
    std::vector<DatasetConfig> configs;
    for (const YAML::Node& one : list) configs.push_back(read_config(one));
    return configs;
  }

 private:
  void require(bool holds, const char* what) const {
    if (--values_left_ < 0) throw InputError("{}: the end of its header is missing", source_);
    if (!holds) throw InputError("{}: its header's {}", source_, what);
  }

  std::string text(const YAML::Node& node, const char* what) const {
    require(node.IsScalar(), what);
    return node.Scalar();
  }

  // A file, folder or pattern within the repository, in data_dir or data_files.
  std::string path(const YAML::Node& node, const char* what) const {
    std::string named = text(node, what);
    std::string within;
    for (const std::filesystem::path& part : std::filesystem::path(named)) {
      if (part == ".." || part == "/") {
        throw InputError(
            "{}: its header contains the path '{}', which is outside the repository; refused",
            source_, printable_excerpt(named, 80));
      }
      if (part.empty() || part == ".") continue;
      within += (within.empty() ? "" : "/") + part.string();
    }
    return within;
  }

  std::vector<std::string> paths(const YAML::Node& node, const char* what) const {
    if (!node.IsSequence()) return {path(node, what)};
    std::vector<std::string> all;
    for (const YAML::Node& one : node) all.push_back(path(one, what));
    return all;
  }

  DatasetConfig read_config(const YAML::Node& node) const {
    require(node.IsMap(), "configs: expected a map with config_name and data_files");
    DatasetConfig config;
    config.name = "default";
    if (const YAML::Node name = node["config_name"]) config.name = text(name, "config_name");
    if (const YAML::Node chosen = node["default"]) {
      config.chosen = chosen.IsScalar() && (chosen.Scalar() == "true" || chosen.Scalar() == "True");
    }
    if (const YAML::Node folder = node["data_dir"]) config.folder = path(folder, "data_dir");
    if (const YAML::Node files = node["data_files"]) read_files(files, config);
    return config;
  }

  // Reads a pattern, a list of patterns (both for the split train), or a list of {split, path}.
  void read_files(const YAML::Node& node, DatasetConfig& config) const {
    constexpr const char* kExpected =
        "data_files: expected patterns, or a list of {split: NAME, path: PATTERN}";
    const bool by_split = node.IsSequence() && node.size() > 0 && node[0].IsMap();
    if (node.IsMap()) {
      for (const auto& one : node) {
        config.splits.emplace_back(text(one.first, kExpected), paths(one.second, kExpected));
      }
    } else if (!by_split) {
      config.splits.emplace_back("train", paths(node, kExpected));
    } else {
      for (const YAML::Node& one : node) {
        require(one.IsMap() && one["split"] && one["path"], kExpected);
        config.splits.emplace_back(text(one["split"], kExpected), paths(one["path"], kExpected));
      }
    }
  }

  const std::string& source_;
  mutable int values_left_ = kMostValues;
};

}  // namespace

std::vector<DatasetConfig> read_dataset_card(const std::string& card, const std::string& source) {
  const std::string header = header_of(card);
  if (header.empty()) return {};
  // Characters that yaml-cpp reads wrongly or slowly (yaml_map.cpp).
  const bool plain = std::none_of(header.begin(), header.end(), [](char c) {
    return c == '\x7f' || (c >= 0 && c < ' ' && c != '\t' && c != '\n');
  });
  if (!plain || header.size() > kLongest || invalid_utf8_offset(header)) {
    throw InputError("{}: its header is not YAML: it is too long, or is not text", source);
  }
  try {
    const YAML::Node top = YAML::Load(header);
    if (!top.IsMap() || !top["configs"]) return {};
    return CardReader(source).read(top["configs"]);
  } catch (const YAML::Exception& error) {
    throw InputError("{}: its header is not YAML: {}", source, error.what());
  }
}

}  // namespace ropewalk
