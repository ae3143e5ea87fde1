#include "ropewalk/figures/parts/run_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/view_look.h"

namespace ropewalk {
namespace {

constexpr size_t kLongestLabel = 40;  // characters in a sentence

double mean_of(const CheckpointNumbers& numbers, const char* key) {
  return numbers.views[find_view(key)].over_heads.mean;
}

std::string per_cent(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::string of_run(const CheckpointNumbers& last) {
  const double offset = mean_of(last, "pc0_offset"), content = mean_of(last, "pc0_content");
  const double position = mean_of(last, "pc0_pos_q") + mean_of(last, "pc0_pos_k");
  if (!(offset + content + position > 0)) return "";
  const std::string label = printable_excerpt(last.label, kLongestLabel);
  if (std::max({offset, content, position}) <= 0.5) {
    return fmt::format(
        " At {}, PC0 is {} offset between queries and keys, {} position and {} content.", label,
        per_cent(offset), per_cent(position), per_cent(content));
  }
  if (position > 0.5) {
    return fmt::format(
        " At {}, PC0 is mostly position: {} of its variance; {} is the offset between queries and "
        "keys.",
        label, per_cent(position), per_cent(offset));
  }
  return fmt::format(" At {}, PC0 is mostly {}: {} of its variance; {} is position.", label,
                     offset > 0.5 ? "the offset between queries and keys" : "content",
                     per_cent(std::max(offset, content)), per_cent(position));
}

std::string of_models(const RunNumbers& run) {
  std::optional<std::pair<double, double>> range;
  for (const CheckpointNumbers& model : run.checkpoints) {
    const double offset = mean_of(model, "pc0_offset");
    if (std::isnan(offset)) continue;
    if (!range) range = std::pair(offset, offset);
    range = std::pair(std::min(range->first, offset), std::max(range->second, offset));
  }
  if (!range) return "";
  return fmt::format(" Of PC0's variance, {} to {} is the offset between queries and keys.",
                     per_cent(range->first), per_cent(range->second));
}

}  // namespace

bool contexts_differ(const RunNumbers& run) {
  std::set<int64_t> contexts;
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (numbers.context > 0) contexts.insert(numbers.context);
    }
  }
  return contexts.size() > 1;
}

std::string context_mark(const RunNumbers& run, const CheckpointNumbers& numbers) {
  if (numbers.context <= 0 || !contexts_differ(run)) return "";
  if (split_label(numbers.label).context == numbers.context) return "";
  return fmt::format("@{}", numbers.context);
}

std::string phase_with_context(const RunNumbers& run, const CheckpointNumbers& numbers) {
  const std::string mark = context_mark(run, numbers);
  return numbers.phase + (numbers.phase.empty() || mark.empty() ? "" : " ") + mark;
}

std::string notes_on_pc0(const RunNumbers& run) {
  std::string text = run.models ? of_models(run) : of_run(run.checkpoints.back());
  if (run.models && contexts_differ(run)) {
    text += " Contexts differ, and r and classes depend on the context.";
  }
  return text;
}

}  // namespace ropewalk
