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

// Colours: of queries blue, of keys red, of what belongs to both purple.
enum class Hue { queries, keys, both };

// A line over training: how it is drawn, and what the legend calls it. Without a name: none.
struct TrainingLine {
  std::string name{};
  std::string shape{};  // of its markers; "stroke": a thin line without markers, band and bars
};

// One way to look at a statistic: as it is, or its absolute value. An empty key or text: not there.
struct StatisticView {
  std::string key{};   // "abs_r_k"
  std::string name{};  // "|r_k|"
  bool absolute = false;
  Hue hue = Hue::both;
  double low = 0;  // limits of its colours
  double high = 1;
  double change = 0.5;  // a change this large has the strongest colour
  // Over heads, the keys of summary.json: the mean, the spread across heads, and the mean in each
  // tenth of the depth.
  std::string mean{};
  std::string spread{};
  std::string depth{};
  std::string mean_name{};    // of the mean, for people
  std::string hint{};         // what the mean is of, in a few words
  std::string depth_title{};  // of the heat map by depth
  TrainingLine line{};
};

// A figure over training that one or more statistics share; the one with a title describes it. One
// with a y_title of its own begins another plot below.
struct TrainingFigure {
  std::string name{};  // of its file
  std::string title{};
  std::string y_title{};
  std::string what{};      // that is averaged: "Mean share of variance"
  bool whole_axis = true;  // the axis shows all of 0 to 1 at least; else up to the largest value
  bool stacked = false;    // they are parts of a whole: bars of parts, no lines
  std::string note{};      // last sentences of the text below the title
  bool first = false;      // it stands right after those of headlines, before portraits
};

enum class Granularity { head, component };

// What the sign of a number hangs on: the number itself; the rule that turns an axis one way, by
// one checkpoint alone; or that rule in the first checkpoint and then the axis, carried along.
enum class Sign { own, rule, run };

// What 1 is of a number. Numbers per token fall as 1/T where the context T grows, though nothing
// else changes: only those of one context are compared, and their unit is what comes to 1 over the
// context, in the unit of vectors or in logits.
enum class Unit { one, per_token, logits_per_token };
double unit_size(Unit unit, const LogitUnits& units);  // NaN: what it needs is not known

// The file that holds its columns: qk.csv, with one row per component, or heads.csv, with one row
// per head.
enum class Table { components, heads };

// A name in the flags of heads.csv, what it means, in a sentence to be read alone (head_flags.h),
// and when a head has it.
struct HeadFlag {
  std::string name{};
  std::string meaning{};
  bool (*set)(const HeadReplicates&) = nullptr;
};

// A number of every head, or of each of its components: its column in the table, its place in
// summary.json, figures and page, what documents say about it, and how it is computed
// (CONTRIBUTING.md shows how to add one).
struct Statistic {
  std::string key{};         // the column's name; key_se is that of its standard error
  std::string title{};       // for people, short
  std::string definition{};  // one sentence without its full stop, to be read alone
  ChangeScale scale;         // of the size of its changes
  Table table = Table::components;
  Granularity per = Granularity::component;  // heads.csv: per head
  bool error = true;                         // whether it has a standard error
  Unit unit = Unit::one;
  bool of_rows = false;  // of rows of attention, which moves with the context alone
  Sign sign = Sign::own;
  std::string
      carried{};  // with Sign::rule, the key of the statistic whose changes stand for its own
  bool last_error = false;  // the error's column stands after those of the others
  double low = -std::numeric_limits<double>::max();  // limits of its values
  double high = std::numeric_limits<double>::max();
  bool required = false;          // no table without it
  bool headline = false;          // drawn before the others
  bool list_changes = false;      // summary.json lists the heads in which it changed
  bool shares = false;            // its components are shares of a whole: drawn stacked
  std::string undefined_flag{};   // of a row that lacks it although the component varies
  std::vector<HeadFlag> flags{};  // of heads.csv
  std::vector<StatisticView> views{};
  TrainingFigure figure{};

  // Values of one head: [replicates, components], or [replicates, 1] per head; case 0 is the whole
  // sample, the others leave out a block each. Without an error, the first case alone. float64, NaN
  // where undefined. Statistics per head that fall out of one computation share it: it is run once
  // and gives [replicates, members], of which `member` is theirs. Without it: known only along a
  // run (carried_signs.h).
  at::Tensor (*compute)(const HeadReplicates&) = nullptr;
  int64_t member = 0;
  // It takes a few listed values alone: it never counts as changed, and its changes have the errors
  // of both sides.
  bool step = false;
  // The standard error where the jackknife fails; null: the jackknife.
  double (*step_error)(const HeadReplicates&) = nullptr;
};

// A statistic of heads.csv; its mean over heads is in the summary under mean_KEY, and with `depth`
// that in each tenth of the depth under depth_KEY.
Statistic head_statistic(const std::string& key, const std::string& title, Hue hue,
                         const std::string& definition, ChangeScale scale, double low, double high,
                         bool depth = false);
// Adds a reading of its absolute value, abs_KEY.
Statistic with_absolute(Statistic statistic);
// Statistics that share a computation, in the order of its columns.
std::vector<Statistic> computed_by(at::Tensor (*compute)(const HeadReplicates&),
                                   std::vector<Statistic> members);

// All statistics, in the order of the table's columns: those in statistics/, then added ones.
const std::vector<const Statistic*>& statistics();

// What the page lists it under; empty: with what it is of, components or heads.
std::string statistic_group(const Statistic& statistic);

// Its place in that list. Throws std::logic_error on an unknown key.
size_t statistic_index(std::string_view key);

// A reading with its statistic's place in the list.
struct IndexedView {
  size_t index = 0;
  const Statistic* statistic = nullptr;
  const StatisticView* view = nullptr;
};
// All of them, those of headlines first.
std::vector<IndexedView> all_views();

// Adds a statistic of somebody's own for as long as this lives. Not while tables are being made.
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
