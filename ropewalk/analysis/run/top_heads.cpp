#include "ropewalk/analysis/run/top_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

using Head = std::pair<int64_t, int64_t>;  // layer, query head

constexpr const char* kScored[] = {"r2cv_q", "r2cv_k", "logit_pos_share"};
constexpr const char* kLogits = "logit_pos_share";

// Where the error is unknown, nothing is subtracted.
double score_of(const HeadChange& one) {
  const double se = std::isnan(one.effect_se) ? 0 : one.effect_se;
  return std::isnan(one.effect) ? 0 : std::max(0.0, std::abs(one.effect) - se);
}

std::string labels(const std::vector<const CheckpointTable*>& checkpoints) {
  std::string text;
  for (const auto* one : checkpoints) text += (text.empty() ? "" : " + ") + one->label;
  return text;
}

// The checkpoints' names as part of a sentence.
std::string name_checkpoints(const std::vector<const CheckpointTable*>& checkpoints) {
  if (checkpoints.size() == 1) return checkpoints.front()->label;
  return fmt::format("{} seeds of random weights", checkpoints.size());
}

// The change that gives a head its score.
struct Candidate {
  double score = -1;
  IndexedView view;
  HeadChange change;
  std::string from;
  std::string from_words;
  std::string to;
  bool axis_changed = false;
};

std::string sentence(const Candidate& one, const std::string& first) {
  const HeadChange& head = one.change;
  // The short form, "R² of keys" for "R² of keys, cross-validated", reads better in a sentence.
  const std::string& whole = one.view.statistic->title;
  std::string title = whole.substr(0, whole.find(','));
  title[0] = title[0] == 's' ? 'S' : title[0];
  const char* verb = head.change.value < 0 ? "fell" : "rose";
  std::string text =
      fmt::format("{} {} from {} at {} to {} at {}", title, verb, format_decimals(head.before, 2),
                  one.from_words, format_decimals(head.after, 2), one.to);
  if (!std::isnan(head.change.se)) {
    text += fmt::format(" ({}{}{})", head.change.value > 0 ? "+" : "",
                        format_decimals(head.change.value, 3), format_error(head.change.se, 3));
  }
  if (!std::isnan(head.effect)) {
    text += fmt::format(", {:.1f} times the spread over heads", std::abs(head.effect));
  }
  text += head.changed ? "." : "; by the rule of changes.csv that is no change.";
  if (one.axis_changed) text += fmt::format(" Its PC0 is another axis than at {}.", first);
  return text;
}

// Query heads whose score comes from the same change of the keys that they share.
struct Line {
  int64_t layer = 0;
  std::vector<int64_t> q_heads;
  int64_t kv_head = CheckpointTable::kUnknown;
  const Candidate* candidate = nullptr;

  bool holds(int64_t other_layer, int64_t other_kv_head, const Candidate& other) const {
    const Candidate& mine = *candidate;
    return mine.view.view->hue == Hue::keys && kv_head != CheckpointTable::kUnknown &&
           layer == other_layer && kv_head == other_kv_head &&
           mine.view.index == other.view.index && mine.from == other.from &&
           mine.score == other.score && mine.axis_changed == other.axis_changed;
  }
};

Json entry(const Line& line, const std::string& first) {
  const Candidate& one = *line.candidate;
  const HeadChange& found = one.change;
  return {{"layer", line.layer},
          {"q_head", line.q_heads.front()},
          {"q_heads", line.q_heads},
          {"score", one.score},
          {"statistic", one.view.view->key},
          {"from", one.from},
          {"to", one.to},
          {"before", number_or_null(found.before)},
          {"after", number_or_null(found.after)},
          {"change", number_or_null(found.change.value)},
          {"se", number_or_null(found.change.se)},
          {"effect", number_or_null(found.effect)},
          {"effect_se", number_or_null(found.effect_se)},
          {"changed", found.changed},
          {"axis_changed", one.axis_changed},
          {"sentence", sentence(one, first)}};
}

// Lines by decreasing score, ties by layer and head; heads that share their change share a line.
std::vector<Line> ranked_lines(const std::map<Head, Candidate>& best,
                               const CheckpointTable& checkpoint) {
  std::vector<Line> lines;
  // indexes of lines, by layer and KV head
  std::map<std::pair<int64_t, int64_t>, std::vector<size_t>> of_keys;
  for (const auto& [head, one] : best) {
    if (one.score < 0) continue;
    const int64_t kv_head = checkpoint.kv_head[one.change.row];
    std::vector<size_t>& known = of_keys[{head.first, kv_head}];
    const auto same = std::find_if(known.begin(), known.end(), [&](size_t i) {
      return lines[i].holds(head.first, kv_head, one);
    });
    if (same != known.end()) {
      lines[*same].q_heads.push_back(head.second);
      continue;
    }
    known.push_back(lines.size());
    lines.push_back({head.first, {head.second}, kv_head, &one});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.candidate->score > b.candidate->score;
  });
  return lines;
}

}  // namespace

Json top_heads(const CheckpointComparison* baseline, const CheckpointComparison* whole) {
  std::map<Head, Candidate> best;
  for (const IndexedView& view : all_views()) {
    const std::string& key = view.view->key;
    if (std::find(std::begin(kScored), std::end(kScored), key) == std::end(kScored)) continue;
    for (const CheckpointComparison* comparison : {baseline, whole}) {
      if (comparison == nullptr) continue;
      const CheckpointTable& to = comparison->to();
      for (const HeadChange& change : comparison->changes(view)) {
        const Head head{to.layer[change.row], to.q_head[change.row]};
        const bool other = whole != nullptr && whole->axis_sign(head.first, head.second) == 0;
        const double score = score_of(change);
        Candidate& known = best[head];
        if ((other && key == kLogits) || score <= known.score) continue;
        known = {score,
                 view,
                 change,
                 labels(comparison->from()),
                 name_checkpoints(comparison->from()),
                 to.label,
                 other};
      }
    }
  }
  if (best.empty()) return {};
  const std::vector<Line> ranked = ranked_lines(best, (whole != nullptr ? whole : baseline)->to());
  if (ranked.empty()) return {};
  Json list = Json::array();
  const std::string first = whole != nullptr ? whole->from().front()->label : "";
  for (const Line& line : ranked) list.push_back(entry(line, first));
  return list;
}

}  // namespace ropewalk
