#include <fmt/format.h>

#include <ranges>
#include <set>
#include <string_view>

#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/describe_documents_needed.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/run/results.h"
#include "ropewalk/study/show/report.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace {

std::string number(const Json& leaf) {
  if (!leaf.is_object() || leaf["value"].is_null()) return "–";
  return fmt::format("{:.3f}", leaf["value"].get<double>()) +
         (leaf["se"].is_null() ? "" : format_error(leaf["se"].get<double>(), 3));
}

// The share of a class. It is shown with an interval where documents give it no spread, or where ±
// would exceed 0 or 1: with six heads, of which none is in a class, a few resamples may still have
// one there.
std::string share(const Json& leaf, size_t heads) {
  if (!leaf.is_object() || leaf["value"].is_null() || heads == 0) return number(leaf);
  const double value = leaf["value"].get<double>();
  const double reach = leaf["se"].is_null() ? 0 : 2 * leaf["se"].get<double>();
  const bool passes = value - reach < 0 || value + reach > 1;
  if (!leaf.contains("low") && !passes) return number(leaf);
  const ShareInterval interval = share_interval(value, heads);
  return fmt::format("{:.3f} ({:.2f} to {:.2f})", value, interval.low, interval.high);
}

// A number in the text's table: its key in the summary, and its name for readers.
struct NamedNumber {
  std::string_view key;
  const char* name;
};
constexpr std::string_view kLoss = "loss";
// First the loss, where it was measured; then numbers without a sign, then the published ones.
constexpr NamedNumber kNumbers[] = {{kLoss, "loss"},
                                    {"mean_r2cv_q", "R²cv of q"},
                                    {"mean_r2cv_k", "R²cv of k"},
                                    {"mean_abs_r_k", "mean |r_k|"},
                                    {"mean_r_q", "mean r_q"},
                                    {"mean_r_k", "mean r_k"}};

// Columns are counted in characters, not in bytes.
std::string padded(const std::string& text, size_t width) {
  size_t characters = 0;
  for (const char c : text) characters += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return text + std::string(width > characters ? width - characters : 0, ' ');
}

std::string phase_of(const Json& checkpoint) {
  return checkpoint["random"] == true ? "baseline" : checkpoint["phase"].get<std::string>();
}

// What more documents would give, and how to get them.
std::string precision(const Json& summary, const Experiment& experiment) {
  const std::string needed = describe_documents_needed(summary);
  if (needed.empty()) return {};
  const bool adds =
      !experiment.uses_captured_vectors() && !experiment.corpus.chunk && !experiment.vectors;
  return fmt::format("{}{}\n", needed,
                     adds ? "\nTo reach it, write documents: N under corpus; the additional "
                            "documents are read and added."
                          : "");
}

}  // namespace

std::string result_text(const Study& study) {
  const Json summary = read_json_file(study.out / kSummary);
  size_t label_width = 10;
  size_t phase_width = 0;
  for (const Json& checkpoint : summary["checkpoints"]) {
    label_width = std::max(label_width, checkpoint["label"].get<std::string>().size());
    phase_width = std::max(phase_width, phase_of(checkpoint).size());
  }
  std::set<Json> contexts;
  for (const Json& checkpoint : summary["checkpoints"]) contexts.insert(checkpoint["context"]);
  const bool differ = contexts.size() > 1;
  constexpr size_t kWidth = 16, kContextWidth = 9;
  // Independent models have no phases.
  phase_width = phase_width == 0 ? 0 : std::max<size_t>(phase_width, 5) + 2;
  std::string text = padded(phase_width == 0 ? "model" : "checkpoint", label_width + 2) +
                     padded(phase_width == 0 ? "" : "phase", phase_width);
  if (differ) text += padded("context", kContextWidth);
  const auto there = [&](const NamedNumber& one) {
    return one.key != kLoss || summary.contains(kLoss);
  };
  for (const NamedNumber& shown : kNumbers | std::views::filter(there))
    text += padded(shown.name, kWidth);
  text += "position-dominated\n";
  for (const Json& checkpoint : summary["checkpoints"]) {
    const auto label = checkpoint["label"].get<std::string>();
    text += padded(label, label_width + 2) + padded(phase_of(checkpoint), phase_width);
    if (differ) {
      const Json& context = checkpoint["context"];
      text += padded(context.is_null() ? "–" : context.dump(), kContextWidth);
    }
    for (const NamedNumber& shown : kNumbers | std::views::filter(there)) {
      text +=
          padded(number(summary.value(std::string(shown.key), Json::object()).value(label, Json())),
                 kWidth);
    }
    text += share(summary["taxonomy"][label]["position-dominated"],
                  summary["heads"][label]["measured"].get<size_t>()) +
            "\n";
  }
  const bool loss = summary.contains(kLoss);
  text += loss ? "\nLoss: nats per token.\n" : "\n";
  text +=
      "Means over heads; ± is one standard error over documents. R²cv: share of position that a "
      "linear\nfit to the whole vector predicts. r and the class position-dominated: on PC0, by "
      "the published rule;\nits share with ± SE, or a 95 % binomial interval (a to b) near 0 or "
      "1.\n";
  text += precision(summary, study.experiment);
  text += fmt::format("\ntables   {}, {}, {}, {}, {}{} and {}\nfigures  {}\n",
                      (study.out / kTable).string(), kHeads, kBands, kCurves, kChanges,
                      loss ? ", loss.csv" : "", kSummary, (study.out / kFigures).string());
  if (can_write_report()) text += fmt::format("report   {}\n", (study.out / kReport).string());
  return text;
}

}  // namespace ropewalk
