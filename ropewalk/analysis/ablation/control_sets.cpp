#include "ropewalk/analysis/ablation/control_sets.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <random>

#include "ropewalk/base/files/hash.h"

namespace ropewalk {
namespace {

constexpr double kMostMoved = 0.25;  // share of a set's units
constexpr size_t kNeighbours = 2;    // layers from which missing units are drawn

using ByLayer = std::map<int64_t, std::vector<QueryHead>>;

// The seed depends on the units only, so that the same set under another name has the same
// controls.
std::mt19937_64 generator_of(const ChosenSet& set) {
  const std::string hex = sha256_hex((set.name.by_kv ? "kv " : "q ") + list_heads(set.heads));
  uint64_t seed = 0;
  std::from_chars(hex.data(), hex.data() + 16, seed, 16);
  return std::mt19937_64(seed);
}

// How many units are drawn from these layers together.
struct LayerQuota {
  std::vector<int64_t> layers;
  size_t units = 0;
};

// The nearest layers with free units and the same kind of position encoding as `layer` (RoPE or
// NoPE), the nearer ones first.
std::vector<int64_t> nearest_with_room(int64_t layer, const std::map<int64_t, size_t>& room,
                                       const std::set<int64_t>& nope) {
  std::vector<int64_t> found;
  for (const auto& [other, left] : room) {
    if (other != layer && left > 0 && nope.contains(other) == nope.contains(layer)) {
      found.push_back(other);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [&](int64_t a, int64_t b) { return std::abs(a - layer) < std::abs(b - layer); });
  if (found.size() > kNeighbours) found.resize(kNeighbours);
  return found;
}

// How many units are drawn from which layers; empty where no control set can be drawn.
std::vector<LayerQuota> quotas(const ChosenSet& set, const ByLayer& others,
                               const std::set<int64_t>& nope, ControlSets& controls) {
  std::map<int64_t, size_t> wanted, room;
  for (const QueryHead& unit : set.units) ++wanted[unit.layer];
  for (const auto& [layer, units] : others) room[layer] = units.size();
  std::vector<LayerQuota> made;
  std::map<int64_t, size_t> lacking;
  for (const auto& [layer, count] : wanted) {
    const size_t here = std::min(count, room[layer]);
    room[layer] -= here;
    if (here > 0) made.push_back({{layer}, here});
    if (here < count) lacking[layer] = count - here;
  }
  for (const auto& [layer, count] : lacking) {
    const std::vector<int64_t> near = nearest_with_room(layer, room, nope);
    size_t left = count;
    for (const int64_t other : near) {
      const size_t taken = std::min(left, room[other]);
      room[other] -= taken;
      left -= taken;
    }
    if (left > 0) {
      controls.why_none = "no_controls";
      controls.moved = 0;
      return {};
    }
    made.push_back({near, count});
    controls.moved += static_cast<int64_t>(count);
  }
  return made;
}

// Removes one random unit from the list and returns it.
QueryHead remove_random_unit(std::vector<QueryHead>& units, std::mt19937_64& random) {
  // The high half of a product, as in resampling.cpp: unlike std::uniform_int_distribution it gives
  // the same draw with every standard library.
  const auto index = static_cast<size_t>(((random() >> 32) * units.size()) >> 32);
  const QueryHead taken = units[index];
  units.erase(units.begin() + static_cast<std::ptrdiff_t>(index));
  return taken;
}

std::vector<QueryHead> draw(const std::vector<LayerQuota>& plan, ByLayer others,
                            std::mt19937_64& random) {
  std::vector<QueryHead> drawn;
  for (const LayerQuota& quota : plan) {
    for (size_t i = 0; i < quota.units; ++i) {
      std::vector<QueryHead> open;
      for (const int64_t layer : quota.layers) {
        open.insert(open.end(), others[layer].begin(), others[layer].end());
      }
      if (open.empty()) return {};  // an earlier quota used all of them
      const QueryHead one = remove_random_unit(open, random);
      std::erase(others[one.layer], one);
      drawn.push_back(one);
    }
  }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

}  // namespace

ControlSets draw_controls(const ChosenSet& set, const std::vector<QueryHead>& heads,
                          const std::set<int64_t>& nope, int64_t group, int64_t count) {
  ControlSets controls;
  if (count == 0) return controls;
  const HeadUnits units = units_of(heads, set.name.by_kv, group);
  ByLayer others;
  for (const auto& [unit, members] : units.members) {
    if (!std::binary_search(set.units.begin(), set.units.end(), unit)) {
      others[unit.layer].push_back(unit);
    }
  }
  const std::vector<LayerQuota> plan = quotas(set, others, nope, controls);
  if (plan.empty()) return controls;
  if (static_cast<double>(controls.moved) > kMostMoved * static_cast<double>(set.units.size())) {
    controls.why_none = "controls_moved";
    return controls;
  }
  // Where few other units exist, few different sets exist, and draws repeat earlier sets. After so
  // many tries we stop.
  constexpr int64_t kTries = 100;
  std::mt19937_64 random = generator_of(set);
  std::set<std::vector<QueryHead>> known;
  for (int64_t i = 0; i < kTries * count; ++i) {
    if (static_cast<int64_t>(controls.sets.size()) == count) break;
    const std::vector<QueryHead> drawn = draw(plan, others, random);
    if (drawn.empty() || !known.insert(drawn).second) continue;
    controls.sets.push_back(units.heads_of(drawn));
  }
  if (controls.sets.empty()) controls.why_none = "no_controls";
  return controls;
}

}  // namespace ropewalk
