#include "ropewalk/study/experiment/training_time.h"

#include <charconv>
#include <cmath>
#include <string>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return c >= 'a' && c <= 'z'; }
bool is_separator(char c) { return c == '-' || c == '_' || c == '='; }

struct ParsedNumber {
  int64_t value = 0;
  char suffix = 0;  // 'k', 'm', 'b' or 't', if there is one
  size_t end = 0;
};

// Parses "40000", "0005000", "1.5k" or "428b" at an index of a lower-case name. The number must be
// an integer after its suffix is applied.
std::optional<ParsedNumber> number_at(std::string_view name, size_t at) {
  size_t end = at;
  const auto skip_digits = [&] {
    while (end < name.size() && is_digit(name[end])) ++end;
  };
  skip_digits();
  if (end == at) return std::nullopt;
  if (end + 1 < name.size() && name[end] == '.' && is_digit(name[end + 1])) {
    ++end;
    skip_digits();
  }
  double value = 0;
  const auto parsed = std::from_chars(name.data() + at, name.data() + end, value);
  if (parsed.ec != std::errc()) return std::nullopt;
  ParsedNumber number{0, 0, end};
  const bool word = end + 1 < name.size() && (is_letter(name[end + 1]) || is_digit(name[end + 1]));
  const size_t unit =
      end < name.size() && !word ? std::string_view("kmbt").find(name[end]) : std::string::npos;
  if (unit != std::string_view::npos) {
    value *= std::pow(1000.0, static_cast<double>(unit + 1));
    number.suffix = name[end];
    ++number.end;
  }
  const double whole = std::round(value);
  if (whole > static_cast<double>(kMostTime) ||
      std::abs(value - whole) > 1e-6 * std::max(1.0, whole))
    return std::nullopt;
  number.value = static_cast<int64_t>(whole);
  return number;
}

// The number after the last occurrence of `word` that is followed by one: "step-40000",
// "steps_40k".
std::optional<ParsedNumber> number_after(std::string_view name, std::string_view word) {
  std::optional<ParsedNumber> found;
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
    if (at > 0 && is_letter(name[at - 1])) continue;
    size_t next = at + word.size();
    if (next < name.size() && name[next] == 's') ++next;
    if (next < name.size() && is_separator(name[next])) ++next;
    if (const auto number = number_at(name, next)) found = number;
  }
  return found;
}

bool of_tokens(const std::optional<ParsedNumber>& number) {
  return number && (number->suffix == 'b' || number->suffix == 't');
}

// The tokens in the name of a folder of checkpoints: "hf_ckpt/16.78b".
std::optional<ParsedNumber> tokens_of_folder(std::string_view name) {
  const size_t slash = name.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::string_view parent = name.substr(0, slash);
  parent = parent.substr(parent.rfind('/') + 1);
  const bool kept = parent.find("ckpt") != std::string_view::npos ||
                    parent.find("checkpoint") != std::string_view::npos;
  const auto number = number_at(name, slash + 1);
  return kept && of_tokens(number) && number->end == name.size() ? number : std::nullopt;
}

}  // namespace

TrainingTime read_training_time(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  while (lower.ends_with('/')) lower.pop_back();
  TrainingTime time;
  std::optional<ParsedNumber> step = number_after(lower, "step");
  if (!step) step = number_after(lower, "iter");
  if (!step) step = number_after(lower, "checkpoint");
  if (step) time.step = step->value;
  std::optional<ParsedNumber> tokens = number_after(lower, "token");
  if (!tokens && step && step->end < lower.size() && is_separator(lower[step->end])) {
    const auto next = number_at(lower, step->end + 1);  // "step-240k-503b"
    if (of_tokens(next)) tokens = next;
  }
  if (!tokens) tokens = tokens_of_folder(lower);
  if (tokens) time.tokens = tokens->value;
  return time;
}

TrainingTime training_time(const CheckpointEntry& entry) {
  TrainingTime time;
  if (entry.random) return time;
  time = {entry.step, entry.tokens};
  const auto fill = [&](const std::string& name) {
    const TrainingTime said = read_training_time(name);
    if (!time.step) time.step = said.step;
    if (!time.tokens) time.tokens = said.tokens;
  };
  if (entry.revision) fill(*entry.revision);
  if (!entry.subfolder.empty()) fill(entry.subfolder);
  if (entry.vectors) fill(*entry.vectors);
  if (entry.path) fill(entry.path->parent_path().filename() / entry.path->filename());
  fill(entry.label);
  return time;
}

void fill_training_time(CheckpointTable& checkpoint) {
  if (checkpoint.random || checkpoint.independent_model) return;
  const TrainingTime said = read_training_time(split_label(checkpoint.label).name);
  if (checkpoint.step < 0) checkpoint.step = said.step.value_or(CheckpointTable::kUnknown);
  if (checkpoint.tokens < 0) checkpoint.tokens = said.tokens.value_or(CheckpointTable::kUnknown);
}

}  // namespace ropewalk
