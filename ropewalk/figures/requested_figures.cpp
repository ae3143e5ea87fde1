#include "ropewalk/figures/requested_figures.h"

#include "ropewalk/figures/parts/head_name.h"

namespace ropewalk {

Json RequestedFigures::to_json() const {
  Json pairs = Json::array();
  for (const auto& [x, y] : portraits) pairs.push_back({x, y});
  Json json{{"statistics", statistics}, {"portraits", pairs}};
  for (const QueryHead& head : distance) json["distance"].push_back(head_name(head));
  return json;
}

std::string over_training_name(const std::string& key) { return "over_training_" + key; }
std::string by_depth_name(const std::string& key) { return "by_depth_" + key; }
std::string portrait_name(const PortraitPair& pair) {
  return "portrait_" + pair.first + "_" + pair.second;
}

std::vector<std::string> requested_names(const RequestedFigures& asked) {
  std::vector<std::string> names;
  for (const std::string& key : asked.statistics) {
    names.insert(names.end(), {over_training_name(key), by_depth_name(key)});
  }
  for (const PortraitPair& pair : asked.portraits) names.push_back(portrait_name(pair));
  if (!asked.distance.empty()) names.push_back(kHeadDistance);
  return names;
}

std::vector<std::string> requested_keys(const RequestedFigures& asked) {
  std::vector<std::string> keys = asked.statistics;
  for (const auto& [x, y] : asked.portraits) keys.insert(keys.end(), {x, y});
  return keys;
}

}  // namespace ropewalk
