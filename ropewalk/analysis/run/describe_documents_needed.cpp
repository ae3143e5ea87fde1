#include "ropewalk/analysis/run/describe_documents_needed.h"

#include <fmt/format.h>

#include <cmath>

#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

constexpr double kWanted = 0.005;  // the standard error that we aim at

}  // namespace

std::string describe_documents_needed(const Json& summary) {
  double worst = 0;
  std::string label;
  int64_t read = 0;
  for (const Json& checkpoint : summary.at("checkpoints")) {
    if (checkpoint.at("random") == true) continue;
    for (const char* key : {"mean_r_q", "mean_r_k"}) {
      const auto name = checkpoint.at("label").get<std::string>();
      const Json leaf = summary.value(key, Json::object()).value(name, Json::object());
      const Json se = leaf.value("se", Json());
      if (!se.is_number() || se.get<double>() <= worst) continue;
      worst = se.get<double>();
      label = name;
      read = checkpoint.at("documents").get<int64_t>();
    }
  }
  if (worst == 0) return {};
  const double ratio = worst / kWanted;
  return fmt::format(
      "The largest standard error of mean r_q and mean r_k is {:.4f}, for '{}' with {}; ± {} needs "
      "about {:.0f}.",
      worst, printable_excerpt(label, 60), format_number_of(read, "document"), kWanted,
      std::ceil(static_cast<double>(read) * ratio * ratio));
}

}  // namespace ropewalk
