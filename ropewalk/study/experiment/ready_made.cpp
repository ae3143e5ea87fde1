#include "ropewalk/study/experiment/ready_made.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kEnding = ".yaml";

fs::path folder() {
  const char* chosen = std::getenv("ROPEWALK_EXPERIMENTS");
  return chosen != nullptr && *chosen != '\0' ? chosen : ROPEWALK_EXPERIMENTS;
}

std::vector<std::string> names() {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder(), ignored)) {
    if (entry.path().extension() == kEnding) found.push_back(entry.path().stem().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

fs::path ready_made_experiment(const std::string& name) {
  const std::vector<std::string> known = names();
  if (std::binary_search(known.begin(), known.end(), name)) return folder() / (name + kEnding);
  throw InputError("{}: is neither a file nor a ready-made experiment; {}", name,
                   known.empty() ? fmt::format("{} has none", folder().string())
                                 : fmt::format("these are {}", fmt::join(known, ", ")));
}

fs::path find_experiment(const fs::path& asked) {
  std::error_code ignored;
  const bool word = !asked.empty() && asked == asked.stem();
  if (!word || (fs::exists(asked, ignored) && !fs::is_directory(asked, ignored))) return asked;
  return ready_made_experiment(asked.string());
}

}  // namespace ropewalk
