#include "ropewalk/study/experiment/revisions.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// A part of a name: letters, or a number that follows them.
struct NamePiece {
  std::string text;
  double number = -1;

  bool operator<(const NamePiece& other) const {
    return std::tie(text, number) < std::tie(other.text, other.number);
  }
};

double multiple(char unit) {
  switch (unit) {
    case 'k':
    case 'K':
      return 1e3;
    case 'm':
    case 'M':
      return 1e6;
    case 'b':
    case 'B':
      return 1e9;
    case 't':
    case 'T':
      return 1e12;
    default:
      return 0;
  }
}

// The number at the start of `text` with its unit: "1.5T", "40000", "32k". Removes it from `text`.
double take_number(std::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  size_t end = digits;
  if (end + 1 < text.size() && text[end] == '.' && std::isdigit(text[end + 1]) != 0) {
    end = std::min(text.find_first_not_of("0123456789", end + 1), text.size());
  }
  double number = std::strtod(std::string(text.substr(0, end)).c_str(), nullptr);
  text.remove_prefix(end);
  // A unit is a word of its own: "4k-to", not "4knots".
  const bool alone = text.size() == 1 || (text.size() > 1 && std::isalpha(text[1]) == 0);
  if (alone && multiple(text.front()) > 0) {
    number *= multiple(text.front());
    text.remove_prefix(1);
  }
  return number;
}

std::vector<NamePiece> pieces(std::string_view name) {
  std::vector<NamePiece> result;
  while (!name.empty()) {
    NamePiece piece;
    while (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0) {
      const char c = name.front();
      if (c != '-' && c != '_' && c != '.' && c != '/') {
        piece.text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      name.remove_prefix(1);
    }
    if (!name.empty()) piece.number = take_number(name);
    result.push_back(std::move(piece));
  }
  return result;
}

constexpr int kLast = 2;  // the era of a run's final weights

// The part of training to which a name belongs, where sorting by its words would be wrong.
int era(const std::vector<NamePiece>& name) {
  const std::string& word = name.empty() ? "" : name.front().text;
  if (word == "main" || word == "master" || word == "final") return kLast;
  return word.starts_with("lc") || word.starts_with("long") ? 1 : 0;
}

std::string label_of(std::string revision) {
  for (char& c : revision) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+';
    if (!plain) c = '-';
  }
  if (revision.starts_with('.')) revision.front() = '-';
  return revision;
}

std::vector<std::string> all_revisions(const Experiment& experiment, const Phase& phase) {
  if (!experiment.model) {
    throw InputError("{}: revisions \"{}\" needs a model; write model: org/name or a folder",
                     experiment.at(phase.line), *phase.revisions);
  }
  std::vector<std::string> names;
  const fs::path folder = experiment.resolve(*experiment.model);
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.is_directory(ignored)) names.push_back(entry.path().filename().string());
    }
  } else if (is_hub_id(*experiment.model)) {
    try {
      const auto refs = shared_hub().refs({HubRepository::Kind::model, *experiment.model});
      for (const auto& [name, commit] : refs) names.push_back(name);
    } catch (const InputError& error) {
      throw InputError("{}: {}", experiment.at(experiment.model_line), error.what());
    }
  } else {
    throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                     experiment.at(experiment.model_line), *experiment.model);
  }
  return names;
}

}  // namespace

bool trained_before(const std::string& a, const std::string& b) {
  const std::vector<NamePiece> first = pieces(a);
  const std::vector<NamePiece> second = pieces(b);
  if (era(first) != era(second)) return era(first) < era(second);
  return first < second;
}

bool names_step(const std::string& name) {
  const std::vector<NamePiece> words = pieces(name);
  return era(words) == kLast || std::any_of(words.begin(), words.end(), [](const NamePiece& piece) {
           return piece.number >= 0;
         });
}

std::optional<RevisionStep> revision_step(const std::string& name) {
  const std::string lower = lower_case(name);
  size_t digits = 0;
  for (const std::string_view word : {"step", "ckpt", "checkpoint", "iter"}) {
    for (size_t at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
      size_t end = at + word.size();
      if (end < lower.size() && (lower[end] == '-' || lower[end] == '_')) ++end;
      if (end < lower.size() && lower[end] >= '0' && lower[end] <= '9') {
        digits = std::max(digits, end);
      }
    }
  }
  if (digits == 0) return std::nullopt;
  std::string_view number = std::string_view(name).substr(digits);
  return RevisionStep{name.substr(0, digits), std::llround(take_number(number))};
}

std::vector<std::pair<int64_t, int64_t>> missing_steps(std::vector<int64_t> steps) {
  constexpr size_t kLeast = 3;  // fewest equal distances that count as regular
  std::sort(steps.begin(), steps.end());
  std::map<int64_t, size_t> distances;
  for (size_t i = 1; i < steps.size(); ++i) ++distances[steps[i] - steps[i - 1]];
  const auto usual =
      std::max_element(distances.begin(), distances.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<std::pair<int64_t, int64_t>> gaps;
  if (usual == distances.end() || usual->second < kLeast || usual->first <= 0) return gaps;
  size_t even = 0;  // number of distances in the regular part, from its first one on
  for (size_t i = 1; i < steps.size(); ++i) {
    const int64_t distance = steps[i] - steps[i - 1];
    if (even > 0 || distance == usual->first) ++even;
    if (even > 0 && distance > usual->first && distance % usual->first == 0) {
      gaps.emplace_back(steps[i - 1] + usual->first, steps[i] - usual->first);
    }
  }
  // Where most distances differ, steps follow another rule, such as a logarithmic one.
  if (2 * usual->second <= even) gaps.clear();
  return gaps;
}

void expand_revisions(Experiment& experiment) {
  std::map<std::string, std::string> labels;  // from a label to its revision
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) labels[entry.label] = entry.label;
  }
  for (Phase& phase : experiment.phases) {
    if (!phase.revisions) continue;
    std::vector<std::string> names = all_revisions(experiment, phase);
    const size_t count = names.size();
    std::erase_if(names, [&](const std::string& name) {
      return ::fnmatch(phase.revisions->c_str(), name.c_str(), 0) != 0;
    });
    if (names.empty()) {
      throw InputError("{}: revisions \"{}\" matches none of the {} of {}",
                       experiment.at(phase.line), *phase.revisions, count, *experiment.model);
    }
    std::sort(names.begin(), names.end(), trained_before);
    for (const std::string& name : names) {
      CheckpointEntry entry;
      entry.label = label_of(name);
      entry.revision = name;
      entry.line = phase.line;
      if (entry.label.size() > kLongestLabel) {
        throw InputError(
            "{}: revision '{}' has {} characters, but a folder's name can have at most {}; list it "
            "under checkpoints, with a label",
            experiment.at(phase.line), printable_excerpt(name, 60), name.size(), kLongestLabel);
      }
      const auto [same, fresh] = labels.try_emplace(entry.label, name);
      if (!fresh) {
        throw InputError(
            "{}: revision '{}' would get the label '{}', which '{}' already has; list one of them "
            "under checkpoints, with another label",
            experiment.at(phase.line), name, entry.label, same->second);
      }
      phase.checkpoints.push_back(std::move(entry));
    }
  }
}

}  // namespace ropewalk
