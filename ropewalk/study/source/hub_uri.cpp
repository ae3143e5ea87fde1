#include "ropewalk/study/source/hub_uri.h"

#include <string_view>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr std::string_view kScheme = "hf://";
constexpr std::string_view kDatasets = "hf://datasets/";

}  // namespace

bool is_hub_uri(const std::string& text) { return text.starts_with(kScheme); }

HubUri parse_hub_uri(const std::string& text, const std::string& example) {
  HubUri uri{{HubRepository::Kind::dataset, ""}, "main", ""};
  const size_t name = text.find('/', kDatasets.size());
  if (text.starts_with(kDatasets) && name != std::string::npos) {
    const size_t inside = text.find('/', name + 1);
    uri.repository.id = text.substr(kDatasets.size(), inside - kDatasets.size());
    if (inside != std::string::npos) uri.inside = text.substr(inside + 1);
    if (const size_t at = uri.repository.id.find('@'); at != std::string::npos) {
      uri.revision = uri.repository.id.substr(at + 1);
      uri.repository.id.resize(at);
    }
    while (uri.inside.ends_with('/')) uri.inside.pop_back();
  }
  if (is_hub_id(uri.repository.id) && !uri.revision.empty()) return uri;
  throw InputError("{}: is not a path in a dataset; write for example {}", text, example);
}

}  // namespace ropewalk
