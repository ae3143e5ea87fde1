#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// Two statistics, on the x axis and on the y axis.
using PortraitPair = std::pair<std::string, std::string>;

// Figures that a user requests in addition to those of every run. Statistics, by key (view_look.h):
// over training and by depth, and portraits of two of them. Heads: their logits against distance.
struct RequestedFigures {
  std::vector<std::string> statistics;
  std::vector<PortraitPair> portraits;
  std::vector<QueryHead> distance;

  bool empty() const { return statistics.empty() && portraits.empty() && distance.empty(); }
  // {"statistics": [key, …], "portraits": [[x, y], …]}, and "distance": ["L3H2", …] if any are
  // requested.
  Json to_json() const;
};

// The name of the figure's files.
std::string over_training_name(const std::string& key);
std::string by_depth_name(const std::string& key);
std::string portrait_name(const PortraitPair& pair);
inline constexpr const char* kHeadDistance = "distance_heads";
std::vector<std::string> requested_names(const RequestedFigures& asked);

// Every key that is requested.
std::vector<std::string> requested_keys(const RequestedFigures& asked);

}  // namespace ropewalk
