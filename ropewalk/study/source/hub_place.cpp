#include "ropewalk/study/source/hub_place.h"

#include <string_view>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr std::string_view kDatasets = "hf://datasets/";

}  // namespace

bool is_hub_place(const std::string& text) { return text.starts_with(kScheme); }

HubPlace parse_hub_place(const std::string& text, const std::string& example) {
  HubPlace place{{HubRepository::Kind::dataset, ""}, "main", ""};
  const size_t name = text.find('/', kDatasets.size());
  if (text.starts_with(kDatasets) && name != std::string::npos) {
    const size_t inside = text.find('/', name + 1);
    place.repository.id = text.substr(kDatasets.size(), inside - kDatasets.size());
    if (inside != std::string::npos) place.inside = text.substr(inside + 1);
    if (const size_t at = place.repository.id.find('@'); at != std::string::npos) {
      place.revision = place.repository.id.substr(at + 1);
      place.repository.id.resize(at);
    }
    while (place.inside.ends_with('/')) place.inside.pop_back();
  }
  if (is_hub_id(place.repository.id) && !place.revision.empty()) return place;
  throw InputError("{}: is no place in a dataset; write {}", text, example);
}

}  // namespace ropewalk
