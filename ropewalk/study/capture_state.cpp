#include "ropewalk/study/capture_state.h"

#include <fmt/format.h>

#include <string>

#include "ropewalk/base/processes.h"

namespace ropewalk {
namespace fs = std::filesystem;

std::optional<fs::path> own_state(const CaptureOptions& options) {
  if (!options.state || options.vectors) return std::nullopt;
  if (processes::count() == 1) return options.state;
  // With a target, processes read in rounds, and one that is ahead of the others would be lost.
  if (options.target_se) return std::nullopt;
  return options.state->string() + fmt::format("-{}-of-{}", processes::rank(), processes::count());
}

void remove_states(const fs::path& state) {
  std::error_code ignored;
  fs::remove(state, ignored);
  const std::string others = state.filename().string() + "-";  // and I-of-N
  for (const auto& entry : fs::directory_iterator(state.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(others) &&
        name.find_first_not_of("0123456789-of", others.size()) == std::string::npos) {
      fs::remove(entry.path(), ignored);
    }
  }
}

}  // namespace ropewalk
