#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/json.h"

namespace ropewalk {

// Two statistics, across and up.
using PortraitPair = std::pair<std::string, std::string>;

// Figures that somebody asks for, besides those of every run, by the keys of statistics
// (reading_look.h): how each goes over training and by depth, and portraits of two of them.
struct AskedFigures {
  std::vector<std::string> statistics;
  std::vector<PortraitPair> portraits;

  bool empty() const { return statistics.empty() && portraits.empty(); }
  Json to_json() const;  // {"statistics": [key, …], "portraits": [[x, y], …]}
};

// Names of their files.
std::string over_training_name(const std::string& key);
std::string by_depth_name(const std::string& key);
std::string portrait_name(const PortraitPair& pair);
std::vector<std::string> asked_names(const AskedFigures& asked);

// Every key that it names.
std::vector<std::string> asked_keys(const AskedFigures& asked);

}  // namespace ropewalk
