#include "ropewalk/study/capture/agreement.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {

void require_agreement(const Json& settings, const Communicator& processes) {
  if (processes.alone()) return;
  const Json first =
      parse_json(processes.from_first(settings.dump()), "the first process's settings");
  for (const auto& [key, value] : first.items()) {
    const Json mine = settings.value(key, Json());
    if (mine == value) continue;
    constexpr size_t kShown = 60;
    throw InputError(
        "'{}' is {} here but {} in process 0; give --device and --dtype, and make sure that every "
        "process sees the same files",
        key, mine.dump().substr(0, kShown), value.dump().substr(0, kShown));
  }
}

void require_same_weights(const std::string& digest, const Communicator& processes) {
  if (processes.alone() || processes.from_first(digest) == digest) return;
  throw InputError(
      "the weights differ from those in process 0; make sure that every process sees the same "
      "files");
}

}  // namespace ropewalk
