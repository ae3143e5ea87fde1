#include "ropewalk/study/show/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/study/show/compare_contexts.h"
#include "ropewalk/study/show/compare_keys.h"
#include "ropewalk/study/show/compare_models.h"
#include "ropewalk/study/show/compared_value.h"

namespace ropewalk {
namespace {

// One line of the comparison.
struct Line {
  std::string label;
  std::string part;  // name of a class; empty where a label has a single number
  ComparedValue run;
  ComparedValue reference;

  double difference() const { return run.value - reference.value; }
  // The error of the difference; it includes the reference's error where that is known.
  double error() const {
    return std::isnan(reference.se) ? run.se : std::hypot(run.se, reference.se);
  }
};

class ReferenceComparison {
 public:
  ReferenceComparison(const RunNumbers& run, const Json& reference, const std::string& source)
      : run_(run), reference_(reference), source_(source) {
    for (const auto* group : {&run.baselines, &run.checkpoints}) {
      for (const CheckpointNumbers& numbers : *group) checkpoints_.push_back(&numbers);
    }
    for (const CheckpointNumbers* numbers : checkpoints_) {
      label_width_ = std::max(label_width_, shown(numbers->label).size());
    }
  }

  std::string text() {
    check_reference_keys(reference_, source_);
    text_ = compare_contexts(run_, reference_, source_);
    for (size_t i = 0; i < views_.size(); ++i) means(views_[i].view->mean, i);
    taxonomy();
    for (size_t i = 0; i < views_.size(); ++i) grid(views_[i].view->depth, i);
    const std::string models = other_models();
    if (compared_ == 0 && models.empty()) fail();
    if (compared_ == 0) text_ += fmt::format("{} has no label of the run\n\n", source_);
    if (!lacking_.empty()) {
      text_ += fmt::format("not compared: {}: {}\n\n", lacking(), why_without_numbers(run_));
    }
    return text_ + models;
  }

 private:
  static std::string shown(const std::string& label) {
    return printable_excerpt(label, kLongestComparedLabel);
  }

  static std::string listed(const std::vector<std::string>& names) {
    return printable_excerpt(fmt::format("{}", fmt::join(names, ", ")), 200);
  }
  std::string lacking() const { return listed(lacking_); }

  [[noreturn]] void fail() const {
    const std::vector<std::string> keys = compared_keys();
    const bool any = std::any_of(keys.begin(), keys.end(),
                                 [&](const std::string& key) { return reference_.contains(key); });
    if (!any) throw InputError("{}: has none of the keys {}", source_, fmt::join(keys, ", "));
    if (!lacking_.empty()) {
      throw InputError("{}: nothing to compare; the run has no {}: {}", source_, lacking(),
                       why_without_numbers(run_));
    }
    std::vector<std::string> labels;
    for (const CheckpointNumbers* numbers : checkpoints_) labels.push_back(numbers->label);
    const std::string others = reference_.contains(kOtherModels)
                                   ? fmt::format("; the run has no number for its {}: {}",
                                                 kOtherModels, why_without_numbers(run_))
                                   : "";
    throw InputError("{}: has no label of the run; the run's are {}{}", source_, listed(labels),
                     others);
  }

  std::string other_models() const {
    const auto found = reference_.find(kOtherModels);
    return found == reference_.end() ? "" : compare_with_models(run_, *found, source_);
  }

  // The reference's object under a key, or null.
  const Json* group(const std::string& key) {
    const auto found = reference_.find(key);
    if (found == reference_.end()) return nullptr;
    if (!found->is_object()) {
      throw InputError("{}: {} is {}; expected an object by label", source_, key, kind_of(*found));
    }
    return &*found;
  }

  ComparedValue leaf(const Json& json, const std::string& where) const {
    return read_compared(json, source_, where);
  }

  void heading(const std::string& title, bool parts) {
    text_ += fmt::format("{}\n  {:<{}}", title, "checkpoint", label_width_);
    if (parts) text_ += fmt::format("  {:<18}", "class");
    text_ += fmt::format("{:>10}{:>9}{:>11}{:>12}{:>8}\n", "run", "SE", "reference", "difference",
                         "in SE");
  }

  // Adds a section of lines, with as many decimals as their numbers need.
  void add(const std::string& title, const std::vector<Line>& lines, bool parts) {
    std::vector<double> stated;
    for (const Line& line : lines) stated.push_back(line.reference.value);
    const int decimals = decimals_for(stated);
    heading(title, parts);
    for (const Line& line : lines) {
      text_ += fmt::format("  {:<{}}", shown(line.label), label_width_);
      if (parts) text_ += fmt::format("  {:<18}", line.part);
      text_ += number_cell(line.run.value, decimals, 10) + number_cell(line.run.se, decimals, 9) +
               number_cell(line.reference.value, decimals, 11) +
               number_cell(line.difference(), decimals, 12, true) +
               number_cell(line.difference() / line.error(), 1, 8, true) + "\n";
    }
    compared_ += lines.size();
  }

  void means(const std::string& key, size_t view) {
    const Json* values = group(key);
    if (values == nullptr) return;
    std::vector<Line> lines;
    for (const CheckpointNumbers* numbers : checkpoints_) {
      const auto found = values->find(numbers->label);
      if (found == values->end()) continue;
      const HeadMean& mean = numbers->views[view].over_heads;
      lines.push_back({numbers->label,
                       "",
                       {mean.mean, mean.se},
                       leaf(*found, fmt::format("{} of '{}'", key, printable(numbers->label)))});
    }
    if (lines.empty()) return;
    // Without heads.csv, a run has no numbers of whole heads to compare.
    if (std::all_of(lines.begin(), lines.end(),
                    [](const Line& line) { return std::isnan(line.run.value); })) {
      lacking_.push_back(key);
      return;
    }
    add(key, lines, false);
    missing(*values);
  }

  void taxonomy() {
    const Json* values = group("taxonomy");
    if (values == nullptr) return;
    std::vector<Line> lines;
    for (const CheckpointNumbers* numbers : checkpoints_) {
      const auto found = values->find(numbers->label);
      if (found == values->end()) continue;
      for (size_t i = 0; i < kHeadClasses.size(); ++i) {
        const std::string name(class_name(kHeadClasses[i]));
        if (!found->is_object() || !found->contains(name)) continue;
        lines.push_back({numbers->label,
                         name,
                         {numbers->classes[i].share, numbers->classes[i].se},
                         leaf((*found)[name], fmt::format("taxonomy of '{}', {}",
                                                          printable(numbers->label), name))});
      }
    }
    if (lines.empty()) return;
    add("taxonomy (fraction of heads)", lines, true);
    missing(*values);
  }

  void grid(const std::string& key, size_t view) {
    const Json* values = group(key);
    if (values == nullptr) return;
    bool begun = false, lacks = false;
    double largest = 0, squares = 0;
    int cells = 0;
    for (const CheckpointNumbers* numbers : checkpoints_) {
      const auto found = values->find(numbers->label);
      if (found == values->end()) continue;
      if (!found->is_array() || found->size() != kDepthBins) {
        throw InputError("{}: {} of '{}' is not a list of {} cells", source_, key,
                         printable(numbers->label), kDepthBins);
      }
      const auto& depth = numbers->views[view].depth;
      if (std::all_of(depth.begin(), depth.end(),
                      [](const DepthCell& cell) { return std::isnan(cell.value); })) {
        lacks = true;
        continue;
      }
      if (!begun) {
        text_ += fmt::format("{}\n  {:<{}}  {:<10}", key, "checkpoint", label_width_, "depth to");
        for (int bin = 0; bin < kDepthBins; ++bin) {
          text_ += fmt::format("{:>7.1f}", (bin + 1) / 10.0);
        }
        text_ += "\n";
      }
      begun = true;
      std::vector<double> run, errors, reference, difference;
      for (size_t bin = 0; bin < kDepthBins; ++bin) {
        const DepthCell& cell = depth[bin];
        run.push_back(cell.value);
        errors.push_back(cell.se);
        reference.push_back(
            leaf((*found)[bin], fmt::format("{} of '{}'", key, printable(numbers->label))).value);
        difference.push_back(run.back() - reference.back());
        if (std::isnan(difference.back())) continue;
        largest = std::max(largest, std::abs(difference.back()));
        squares += difference.back() * difference.back();
        ++cells;
      }
      grid_row(shown(numbers->label), "run", run, 2);
      if (std::any_of(errors.begin(), errors.end(), [](double e) { return !std::isnan(e); })) {
        grid_row("", "SE", errors, 3);
      }
      grid_row("", "reference", reference, 2);
      grid_row("", "difference", difference, 2, true);
      ++compared_;
    }
    if (!begun && lacks) lacking_.push_back(key);
    if (!begun) return;
    if (cells > 0) {
      text_ += fmt::format("  over {} cells: root mean square difference {:.3f}, largest {:.3f}\n",
                           cells, std::sqrt(squares / cells), largest);
    }
    missing(*values);
  }

  void grid_row(const std::string& label, const char* what, const std::vector<double>& cells,
                int decimals, bool sign = false) {
    text_ += fmt::format("  {:<{}}  {:<10}", label, label_width_, what);
    for (const double number : cells) text_ += number_cell(number, decimals, 7, sign);
    text_ += "\n";
  }

  // Ends a section with the labels that only one side has.
  void missing(const Json& values) {
    std::vector<std::string> run_labels, reference_labels;
    for (const CheckpointNumbers* numbers : checkpoints_) run_labels.push_back(numbers->label);
    for (const auto& [label, unused] : values.items()) reference_labels.push_back(label);
    const auto add_missing = [&](const char* where, const std::vector<std::string>& from,
                                 const std::vector<std::string>& lacking) {
      std::string list;
      for (const std::string& label : from) {
        if (std::find(lacking.begin(), lacking.end(), label) != lacking.end()) continue;
        list += (list.empty() ? "" : ", ") + shown(label);
      }
      if (!list.empty()) text_ += fmt::format("  only in the {}: {}\n", where, list);
    };
    add_missing("run", run_labels, reference_labels);
    add_missing("reference", reference_labels, run_labels);
    text_ += "\n";
  }

  const RunNumbers& run_;
  const Json& reference_;
  const std::string& source_;
  const std::vector<IndexedView> views_ = all_views();
  std::vector<const CheckpointNumbers*> checkpoints_;
  size_t label_width_ = std::string_view("checkpoint").size();
  std::string text_;
  size_t compared_ = 0;
  // numbers that the reference has for a label and the run lacks
  std::vector<std::string> lacking_;
};

}  // namespace

std::string compare_with_reference(const RunNumbers& run, const Json& reference,
                                   const std::string& source) {
  if (!reference.is_object()) {
    throw InputError("{}: expected a JSON object with keys such as mean_r_q", source);
  }
  return ReferenceComparison(run, reference, source).text();
}

}  // namespace ropewalk
