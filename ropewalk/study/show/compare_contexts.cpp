#include "ropewalk/study/show/compare_contexts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/study/show/compared_value.h"

namespace ropewalk {
namespace {

// Returns the context of each label of the reference; 0 where it has the label but no context for
// it.
std::map<std::string, int64_t> reference_contexts(const Json& reference,
                                                  const std::string& source) {
  std::map<std::string, int64_t> contexts;
  const auto list = reference.find("checkpoints");
  if (list == reference.end() || !list->is_array()) return contexts;
  for (const Json& entry : *list) {
    const Json label = entry.is_object() ? entry.value("label", Json()) : Json();
    if (!label.is_string()) continue;
    const Json context = entry.value("context", Json());
    const bool tokens = context.is_number_integer() && context >= 2 && context <= kMostContext;
    if (!tokens && !context.is_null()) {
      throw InputError(
          "{}: checkpoints: context of '{}' is {}; expected tokens per document, 2 to {}", source,
          printable_excerpt(label.get<std::string>(), kLongestComparedLabel),
          printable_excerpt(context.dump(), 60), kMostContext);
    }
    contexts[label.get<std::string>()] = tokens ? context.get<int64_t>() : 0;
  }
  return contexts;
}

}  // namespace

std::string context_cell(int64_t context, int width) {
  return number_cell(context > 0 ? static_cast<double>(context) : ComparedValue{}.value, 0, width);
}

std::string compare_contexts(const RunNumbers& run, const Json& reference,
                             const std::string& source) {
  const std::map<std::string, int64_t> contexts = reference_contexts(reference, source);
  struct Row {
    std::string label;
    int64_t run = 0;
    int64_t reference = 0;
  };
  std::vector<Row> rows;
  size_t width = std::string_view("checkpoint").size();
  bool differ = false, known = false;
  for (const auto* group : {&run.baselines, &run.checkpoints}) {
    for (const CheckpointNumbers& numbers : *group) {
      const auto found = contexts.find(numbers.label);
      if (found == contexts.end()) continue;
      rows.push_back({printable_excerpt(numbers.label, kLongestComparedLabel), numbers.context,
                      found->second});
      const Row& row = rows.back();
      width = std::max(width, row.label.size());
      known = known || row.run > 0 || row.reference > 0;
      differ = differ || (row.run > 0 && row.reference > 0 && row.run != row.reference);
    }
  }
  if (!known) return "";
  std::string text = fmt::format("context (tokens per document)\n  {:<{}}{:>10}{:>11}\n",
                                 "checkpoint", width, "run", "reference");
  for (const Row& row : rows) {
    text += fmt::format("  {:<{}}", row.label, width) + context_cell(row.run, 10) +
            context_cell(row.reference, 11) + "\n";
  }
  if (differ) {
    text +=
        "  where the contexts differ, numbers per token (alpha_k, bias_strength) cannot be "
        "compared\n";
  }
  return text + "\n";
}

}  // namespace ropewalk
