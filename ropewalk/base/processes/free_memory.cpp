#include "ropewalk/base/processes/free_memory.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// In version 1 a number near 2^63 stands for no limit.
constexpr int64_t kNoLimit = int64_t{1} << 60;
constexpr int64_t kUnknown = int64_t{10} << 30;  // assumed where the system does not tell

// The names that the two versions of cgroups give to the same things: files of a group, and keys of
// its memory.stat.
struct Version {
  std::string_view limit;
  std::string_view throttle;  // above this the group is slowed down; version 1 has no such file
  std::string_view used;
  std::array<std::string_view, 2> droppable;
};
constexpr Version kFirst{"memory.limit_in_bytes",
                         {},
                         "memory.usage_in_bytes",
                         {"total_inactive_file", "total_active_file"}};
constexpr Version kSecond{
    "memory.max", "memory.high", "memory.current", {"inactive_file", "active_file"}};

std::vector<std::string> words(const std::string& line, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(line);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

// Reads a number; returns nothing for "max" and for an empty or missing file.
std::optional<int64_t> read_number(const fs::path& file) {
  std::ifstream stream(file);
  std::string text;
  stream >> text;
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value < 0 || value >= kNoLimit) return std::nullopt;
  return value;
}

int64_t sum_of_keys(const fs::path& file, const std::array<std::string_view, 2>& keys) {
  std::ifstream stream(file);
  std::string key;
  int64_t value = 0;
  int64_t sum = 0;
  while (stream >> key >> value) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) sum += value;
  }
  return sum;
}

// The memory that one group leaves; nothing where it sets no limit.
std::optional<int64_t> left_in(const fs::path& group, const Version& version) {
  std::optional<int64_t> limit = read_number(group / version.limit);
  if (!version.throttle.empty()) {
    const auto throttle = read_number(group / version.throttle);
    if (throttle) limit = std::min(limit.value_or(*throttle), *throttle);
  }
  if (!limit) return std::nullopt;
  const int64_t used = read_number(group / version.used).value_or(0);
  const int64_t droppable = sum_of_keys(group / "memory.stat", version.droppable);
  return std::max<int64_t>(0, *limit - std::max<int64_t>(0, used - droppable));
}

bool lists(const std::string& options, std::string_view wanted) {
  const auto all = words(options, ',');
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

// The process's group in the hierarchy that limits memory, as /proc/self/cgroup names it.
std::optional<std::string> group_path(const fs::path& proc, bool second) {
  std::ifstream file(proc / "self" / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t last = first == std::string::npos ? first : line.find(':', first + 1);
    if (last == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, last - first - 1);
    const bool wanted =
        second ? controllers.empty() && line.starts_with("0:") : lists(controllers, "memory");
    if (wanted) return line.substr(last + 1);
  }
  return std::nullopt;
}

// Decodes a path of mountinfo, where spaces are \040.
std::string unescape(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 4], code, 8).ptr == &text[i + 4]) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The group's folder below the point where its hierarchy is mounted. A container often sees only
// its own part of the hierarchy: then `root` is the part that the mount leaves out, or the path
// belongs to another namespace.
fs::path group_below(const std::string& root, const std::string& path) {
  std::string rest = path;
  if (root != "/") {
    const bool inside = path == root || path.starts_with(root + "/");
    rest = inside ? path.substr(root.size()) : "";
  }
  const fs::path below = fs::path(rest).relative_path();
  const bool outside = std::find(below.begin(), below.end(), "..") != below.end();
  return outside ? fs::path() : below;
}

std::optional<int64_t> left_by_groups(const fs::path& proc) {
  std::optional<int64_t> least;
  std::ifstream mounts(proc / "self" / "mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto before = words(line.substr(0, dash), ' ');
    const auto after = words(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool second = after[0] == "cgroup2";
    if (!second && (after[0] != "cgroup" || !lists(after[2], "memory"))) continue;
    const auto path = group_path(proc, second);
    if (!path) continue;
    const fs::path mount = unescape(before[4]);
    // A group may not use more than any group that contains it.
    for (fs::path below = group_below(unescape(before[3]), *path);; below = below.parent_path()) {
      const auto left = left_in(below.empty() ? mount : mount / below, second ? kSecond : kFirst);
      if (left) least = std::min(least.value_or(*left), *left);
      if (below.empty()) break;
    }
  }
  return least;
}

int64_t left_on_machine(const fs::path& proc) {
  std::ifstream file(proc / "meminfo");
  std::string word;
  int64_t kib = 0;
  while (file >> word) {
    if (word == "MemAvailable:" && file >> kib) return kib * 1024;
  }
  return kUnknown;
}

}  // namespace

int64_t free_memory(const fs::path& proc) {
  const int64_t machine = left_on_machine(proc);
  return std::min(machine, left_by_groups(proc).value_or(machine));
}

}  // namespace ropewalk
