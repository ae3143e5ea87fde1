#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/math/change_scale.h"

namespace at {
class Tensor;
}

namespace ropewalk {

struct HeadReplicates;
struct LogitUnits;

// Colours: blue for queries, red for keys, purple for what concerns both.
enum class Hue { queries, keys, both };

// A line over training: how it is drawn, and its name in the legend. Without a name there is no
// line.
struct TrainingLine {
  std::string name{};
  // shape of the markers; "stroke": a thin line without markers, band and bars
  std::string shape{};
};

// One way to show a statistic: its value or its absolute value. Keys and texts that are empty do
// not apply.
struct StatisticView {
  std::string key{};   // "abs_r_k"
  std::string name{};  // "|r_k|"
  bool absolute = false;
  Hue hue = Hue::both;
  double low = 0;  // limits of the colour scale
  double high = 1;
  double change = 0.5;  // a change of this size has the strongest colour
  // The keys of summary.json over heads: the mean, the spread over heads, and the mean in each
  // tenth of the depth.
  std::string mean{};
  std::string spread{};
  std::string depth{};
  std::string mean_name{};    // the mean's name for readers
  std::string hint{};         // what is averaged, in a few words
  std::string depth_title{};  // title of the heat map by depth
  TrainingLine line{};
};

// A figure over training that one or more statistics share; the statistic that gives a title
// describes it. A statistic with a y_title of its own starts another plot below.
struct TrainingFigure {
  std::string name{};  // name of the file
  std::string title{};
  std::string y_title{};
  std::string what{};      // what is averaged: "Mean share of variance"
  bool whole_axis = true;  // the axis shows at least 0 to 1; else it ends at the largest value
  bool stacked = false;    // the statistics are parts of a whole: stacked bars instead of lines
  std::string note{};      // the last sentences of the subtitle
  bool first = false;  // the figure comes right after those of the headlines, before the portraits
};

enum class Granularity { head, component };

// What decides the sign of a number: the number itself (own); the rule that orients an axis at one
// checkpoint at a time (rule); or this rule at the first checkpoint, and then the carried
// orientation of the axis (run).
enum class Sign { own, rule, run };

// How a statistic is scaled so that contexts compare. A number per token falls as 1/T when the
// context T grows, even if nothing else changes; so it is compared only at equal contexts, in units
// of what adds up to 1 over the context (a length of vectors, or a logit).
enum class Unit { one, per_token, logits_per_token };
// NaN: the context or the scale of logits is unknown
double unit_size(Unit unit, const LogitUnits& units);

// The file that holds the statistic's columns: qk.csv, with one row per component, or heads.csv,
// with one row per head.
enum class Table { components, heads };

// A flag of heads.csv: its name, its meaning as a sentence that is clear on its own (head_flags.h),
// and the condition under which a head gets it.
struct HeadFlag {
  std::string name{};
  std::string meaning{};
  bool (*set)(const HeadReplicates&) = nullptr;
};

// A number per head, or per component of each head: its column in the table, its entries in
// summary.json, figures and page, its documentation, and its computation (CONTRIBUTING.md shows how
// to add one).
struct Statistic {
  std::string key{};         // the column's name; the column of its standard error is key_se
  std::string title{};       // short, for readers
  std::string definition{};  // one sentence without its full stop, clear on its own
  ChangeScale scale;         // the scale on which changes are measured
  Table table = Table::components;
  Granularity per = Granularity::component;  // heads.csv: per head
  bool error = true;                         // whether it has a standard error
  Unit unit = Unit::one;
  bool of_rows = false;  // is of rows of attention, so that it changes when only the context does
  Sign sign = Sign::own;
  std::string
      // with Sign::rule: the key of the statistic whose changes are used in place of its own
      carried{};
  bool last_error = false;  // the column of its error comes after all other errors
  double low = -std::numeric_limits<double>::max();  // limits of the values
  double high = std::numeric_limits<double>::max();
  bool required = false;      // a table without this column is refused
  bool headline = false;      // drawn before the other statistics
  bool list_changes = false;  // summary.json lists the heads in which this changed
  bool shares = false;        // the components' values are shares of a whole: drawn as a stack
  // flag of a row in which the value is missing although the component varies
  std::string undefined_flag{};
  std::vector<HeadFlag> flags{};  // flags of heads.csv
  std::vector<StatisticView> views{};
  TrainingFigure figure{};

  // Computes the values of one head, float64, NaN where undefined: [replicates, components], or
  // [replicates, 1] for a number per head. Row 0 is the whole sample, the others leave out one
  // block each; a statistic without an error has row 0 only. Statistics per head may share one
  // computation, which runs once and gives [replicates, members]; `member` is the column of this
  // statistic. Null: the value is only known along a run (carried_signs.h).
  at::Tensor (*compute)(const HeadReplicates&) = nullptr;
  int64_t member = 0;
  // It jumps from value to value: it never counts as changed, and its changes have the errors of
  // both sides. These are on `scale`, not in its own unit.
  bool step = false;
  // The standard error where the jackknife fails; null: the jackknife is used.
  double (*step_error)(const HeadReplicates&) = nullptr;
};

// Makes a statistic of heads.csv. The summary has its mean over heads under mean_KEY, and with
// `depth` also the mean in each tenth of the depth under depth_KEY.
Statistic head_statistic(const std::string& key, const std::string& title, Hue hue,
                         const std::string& definition, ChangeScale scale, double low, double high,
                         bool depth = false);
// Adds a view of the absolute value, abs_KEY.
Statistic with_absolute(Statistic statistic);
// Statistics that share a computation, in the order of the computation's columns.
std::vector<Statistic> computed_by(at::Tensor (*compute)(const HeadReplicates&),
                                   std::vector<Statistic> members);

// All statistics, in the order of the table's columns: those in statistics/, then added ones.
const std::vector<const Statistic*>& statistics();

// The heading under which the page lists the statistic; empty: the heading for components or heads.
std::string statistic_group(const Statistic& statistic);

// The statistic's index in statistics(). Throws std::logic_error on an unknown key.
size_t statistic_index(std::string_view key);

// A view with the index of its statistic.
struct IndexedView {
  size_t index = 0;
  const Statistic* statistic = nullptr;
  const StatisticView* view = nullptr;
};
// All views, those of headlines first.
std::vector<IndexedView> all_views();

// Adds a user's own statistic for as long as this object lives. It must not be created or destroyed
// while tables are being made.
class AddedStatistic {
 public:
  explicit AddedStatistic(const Statistic& statistic);
  ~AddedStatistic();
  AddedStatistic(const AddedStatistic&) = delete;
  AddedStatistic& operator=(const AddedStatistic&) = delete;

 private:
  const Statistic* statistic_;
};

}  // namespace ropewalk
