#include <fmt/format.h>

#include "ropewalk/study/report.h"
#include "ropewalk/study/results.h"
#include "ropewalk/study/results_folder.h"

namespace ropewalk {
namespace {

std::string number(const Json& leaf) {
  if (leaf["value"].is_null()) return "–";
  const std::string value = fmt::format("{:.3f}", leaf["value"].get<double>());
  return leaf["se"].is_null() ? value : fmt::format("{} ± {:.3f}", value, leaf["se"].get<double>());
}

std::string phase_of(const Json& checkpoint) {
  return checkpoint["random"] == true ? "baseline" : checkpoint["phase"].get<std::string>();
}

}  // namespace

std::string result_text(const Study& study) {
  const Json summary = read_json_file(study.out / kSummary);
  size_t label_width = 10;
  size_t phase_width = 5;
  for (const Json& checkpoint : summary["checkpoints"]) {
    label_width = std::max(label_width, checkpoint["label"].get<std::string>().size());
    phase_width = std::max(phase_width, phase_of(checkpoint).size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:<14}  {:<14}  {:<18}\n", "checkpoint", label_width, "phase",
                  phase_width, "mean r_q", "mean r_k", "position-dominated");
  for (const Json& checkpoint : summary["checkpoints"]) {
    const auto label = checkpoint["label"].get<std::string>();
    text += fmt::format("{:<{}}  {:<{}}  {:<14}  {:<14}  {:<18}\n", label, label_width,
                        phase_of(checkpoint), phase_width, number(summary["mean_r_q"][label]),
                        number(summary["mean_r_k"][label]),
                        number(summary["taxonomy"][label]["position-dominated"]));
  }
  text += fmt::format("\ntables   {} and {}\nfigures  {}\n", (study.out / kTable).string(),
                      kSummary, (study.out / kFigures).string());
  if (can_write_report()) text += fmt::format("report   {}\n", (study.out / kReport).string());
  return text;
}

}  // namespace ropewalk
