// What rows of attention add to their sums, against loops over keys in float64.
#include "ropewalk/kernels/rows/row_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ropewalk/kernels/rows/key_moves.h"
#include "tests/kernels/rows/made_rows.h"

namespace ropewalk {
namespace {

using Row = RowNumber;
using Case = MadeRows;
constexpr int64_t kFirst = QueryRows::kFirstKey;

// One row of one head, in float64.
class Naive {
 public:
  Naive(const Case& of, const QueryRows& rows, int64_t head, size_t row)
      : of_(of), rows_(rows), head_(head), row_(row), t_(rows.t[row]) {
    for (int64_t j = 0; j <= t_; ++j) {
      logits_.push_back(logit(j, j, of.cap));
      seen_.push_back(!of.window || t_ - j < *of.window);
    }
    double top = -1e300;
    for (int64_t j = 0; j <= t_; ++j) {
      if (seen(j)) top = std::max(top, logits_[at(j)]);
    }
    largest = top;
    const double sink = of.sinks ? rows.scores.sinks[head].item<double>()
                                 : -std::numeric_limits<double>::infinity();
    double total = std::exp(sink);
    for (int64_t j = 0; j <= t_; ++j) total += seen(j) ? std::exp(logits_[at(j)]) : 0;
    for (int64_t j = 0; j <= t_; ++j) p_.push_back(seen(j) ? std::exp(logits_[at(j)]) / total : 0);
    learned = std::exp(sink) / total;
    entropy = learned > 0 ? -learned * std::log(learned) : 0;
    for (const double p : p_) entropy -= p > 0 ? p * std::log(p) : 0;
  }

  double largest = 0, learned = 0, entropy = 0;

  double p(int64_t j) const { return j >= 0 ? p_[at(j)] : 0; }
  bool seen(int64_t j) const { return seen_[at(j)]; }
  int32_t token(int64_t j) const { return rows_.tokens[j].item<int32_t>(); }
  double sum(const std::function<double(int64_t)>& of) const {
    double found = 0;
    for (int64_t j = kFirst; j <= t_; ++j) found += seen(j) ? of(j) : 0;
    return found;
  }
  double lift(const std::function<bool(int64_t)>& such) const {
    return sum([&](int64_t j) { return such(j); }) / sum([](int64_t) { return 1; }) *
           sum([&](int64_t j) { return p(j); });
  }

  // The correlation of the logits of moved keys with those at the same place, and of the same key.
  std::pair<double, double> moved() const {
    const int64_t first = std::max(kFirst, of_.window ? t_ - *of_.window + 1 : 0);
    const auto runs = key_runs(rows_.seed, kFirst, shortest_run(t_ - first + 1), of_.tokens);
    const auto moves = run_moves(runs, rows_.seed, first, t_);
    std::vector<double> after, same_place, same_key;
    for (size_t run = 0; run + 1 < runs.size(); ++run) {
      for (int64_t key = std::max(runs[run], first); key < std::min(runs[run + 1], t_ + 1); ++key) {
        const int64_t index = key + moves[run];
        after.push_back(logit(key, index, {}));
        same_place.push_back(logit(index, index, {}));
        same_key.push_back(logit(key, key, {}));
      }
    }
    return {correlation(after, same_place), correlation(after, same_key)};
  }

 private:
  static size_t at(int64_t j) { return static_cast<size_t>(j); }

  // Of a key that is put at another place.
  double logit(int64_t key, int64_t index, const std::optional<double>& cap) const {
    const at::Tensor q = rows_.q[head_][static_cast<int64_t>(row_)].to(at::kDouble);
    at::Tensor k = rows_.k[rows_.kv[at(head_)]][key].to(at::kDouble).clone();
    for (int64_t f = 0; of_.turns && f < of_.pairs; ++f) {
      const int64_t i = of_.interleaved ? 2 * f : f,
                    j = of_.interleaved ? 2 * f + 1 : f + of_.pairs;
      const double angle = static_cast<double>(index - key) * rope_angles(of_.pairs)[at(f)];
      const double a = k[i].item<double>(), b = k[j].item<double>();
      k[i] = a * std::cos(angle) - b * std::sin(angle);
      k[j] = a * std::sin(angle) + b * std::cos(angle);
    }
    double made = q.dot(k).item<double>() * rows_.scores.scale;
    if (cap) made = *cap * std::tanh(made / *cap);
    if (of_.slopes) {
      made -= rows_.scores.slopes[head_].item<double>() * static_cast<double>(t_ - index);
    }
    return made;
  }
  static double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const at::Tensor x = at::tensor(a, at::kDouble), y = at::tensor(b, at::kDouble);
    const at::Tensor u = x - x.mean(), v = y - y.mean();
    return (u.dot(v) / (u.norm() * v.norm())).item<double>();
  }

  const Case& of_;
  const QueryRows& rows_;
  int64_t head_;
  size_t row_;
  int64_t t_;
  std::vector<double> logits_, p_;
  std::vector<bool> seen_;
};

std::map<int64_t, double> expected_numbers(const Case& of, const Naive& row, int64_t t) {
  std::map<int64_t, double> n;
  n[Row::rows] = 1;
  n[Row::sink] = row.p(0);
  for (int64_t j = 0; j < kFirst; ++j) n[Row::first4] += row.p(j);
  n[Row::self] = row.p(t);
  n[Row::learned] = row.learned;
  n[Row::late] = row.sum([&](int64_t j) { return row.p(j); });
  n[Row::entropy] = row.entropy;
  n[Row::reach] =
      row.sum([&](int64_t j) { return row.p(j) * std::log2(1 + static_cast<double>(t - j)); });
  n[Row::largest] = row.largest;
  n[Row::previous_rows] = t >= 5;
  n[Row::previous] = t >= 5 ? row.p(t - 1) : 0;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t far = kFar[i];
    const bool there = t >= 2 * far && (!of.window || *of.window > far);
    n[Row::far_rows + i] = there;
    n[Row::far + i] = there ? row.sum([&](int64_t j) { return t - j > far ? row.p(j) : 0; }) : 0;
  }
  const auto lift = [&](int64_t column, const std::function<bool(int64_t)>& such) {
    n[column] = row.sum([&](int64_t j) { return such(j); }) > 0;
    n[column + 1] = row.sum([&](int64_t j) { return such(j) ? row.p(j) : 0; });
    n[column + 2] = row.lift(such);
  };
  lift(Row::echo_rows, [&](int64_t j) { return j < t && row.token(j) == row.token(t); });
  lift(Row::copy_rows,
       [&](int64_t j) { return j > kFirst && j < t && row.token(j - 1) == row.token(t); });
  const bool moved = t >= 64 && (of.turns || of.slopes);
  n[Row::moved_rows] = moved;
  n[Row::still_rows] = 0;
  n[Row::positional] = moved ? row.moved().first : 0;
  n[Row::symbolic] = moved ? row.moved().second : 0;
  return n;
}

TEST(RowNumbers, AreThoseOfLoops) {
  for (const Case& of : kinds_of_layers()) {
    const QueryRows rows = make_rows(of);
    const int64_t parts = distance_parts(of.tokens);
    const RowNumbers found = row_numbers(rows, parts);
    for (int64_t head = 0; head < rows.heads(); ++head) {
      for (size_t i = 0; i < rows.t.size(); i += of.every ? 29 : 1) {
        const auto row = static_cast<int64_t>(i);
        const int64_t t = rows.t[i];
        const Naive naive(of, rows, head, i);
        const auto expected = expected_numbers(of, naive, t);
        ASSERT_EQ(expected.size(), Row::count);
        for (const auto& [column, value] : expected) {
          const bool correlates = column == Row::positional || column == Row::symbolic;
          EXPECT_NEAR(found.numbers[head][row][column].item<double>(), value,
                      correlates ? 2e-5 : 2e-6 + 2e-6 * std::abs(value))
              << of.name << ", head " << head << ", t " << t << ", column " << column;
        }
        for (int64_t part = 0; part < parts; ++part) {
          const int64_t begin = distance_part_begin(part), end = distance_part_begin(part + 1);
          const double mass =
              naive.sum([&](int64_t j) { return t - j >= begin && t - j < end ? naive.p(j) : 0; });
          EXPECT_NEAR(found.distances[head][row][part].item<double>(), mass, 1e-6)
              << of.name << ", head " << head << ", t " << t << ", part " << part;
        }
      }
    }
  }
}

TEST(RowNumbers, NameTheTwoStrongest) {
  const Case of{.name = "", .window = 60};
  const QueryRows rows = make_rows(of);
  const RowNumbers found = row_numbers(rows, distance_parts(of.tokens));
  for (int64_t head = 0; head < rows.heads(); ++head) {
    std::vector<std::array<double, 3>> all;  // -p, t, key
    for (size_t i = 0; i < rows.t.size(); ++i) {
      const Naive naive(of, rows, head, i);
      for (int64_t j = kFirst; j < rows.t[i]; ++j) {
        all.push_back({-naive.p(j), static_cast<double>(rows.t[i]), static_cast<double>(j)});
      }
    }
    std::partial_sort(all.begin(), all.begin() + 2, all.end());
    for (int64_t i = 0; i < kStrongest; ++i) {
      const auto number = [&](int64_t n) { return found.strongest[head][i][n].item<double>(); };
      const auto& [p, t, key] = all[static_cast<size_t>(i)];
      EXPECT_EQ(number(0), t);
      EXPECT_EQ(number(1), key);
      EXPECT_NEAR(number(2), -p, 1e-6);
    }
  }
}

// All keys alike: the first of equal edges is named, and rows whose logits do not vary count apart.
TEST(RowNumbers, OfEqualOnesTheFirst) {
  Case of{.name = "", .tokens = 90, .turns = false};
  QueryRows rows = make_rows(of);
  rows.k = at::ones_like(rows.k);
  RowNumbers found = row_numbers(rows, distance_parts(of.tokens));
  EXPECT_EQ(found.strongest[0][0][0].item<double>(), 5);
  EXPECT_EQ(found.strongest[0][0][1].item<double>(), 4);
  EXPECT_EQ(found.strongest[0][1][0].item<double>(), 6);
  EXPECT_EQ(found.strongest[0][1][1].item<double>(), 4);
  of.turns = true;
  of.pairs = 1;
  rows = make_rows(of);
  rows.k.zero_();
  found = row_numbers(rows, distance_parts(of.tokens));
  EXPECT_EQ(found.numbers.select(2, Row::moved_rows).sum().item<double>(), 0);
  EXPECT_EQ(found.numbers.select(2, Row::still_rows).sum().item<double>(), 4 * (90 - 64));
  EXPECT_EQ(found.numbers.select(2, Row::positional).abs().sum().item<double>(), 0);
}

// A document of one late token has no edge.
TEST(RowNumbers, OfNoEdgeTheProbabilityIsNothing) {
  const Case of{.name = "", .tokens = 5};
  const RowNumbers found = row_numbers(make_rows(of), 3);
  EXPECT_EQ(found.strongest.select(2, 2).sum().item<double>(), 0);
}

TEST(RowNumbers, PartsOfDistances) {
  EXPECT_EQ(distance_parts(1), 1);
  EXPECT_EQ(distance_parts(2), 2);
  EXPECT_EQ(distance_parts(3), 3);
  EXPECT_EQ(distance_parts(4), 3);
  EXPECT_EQ(distance_parts(5), 4);
  EXPECT_EQ(distance_parts(4096), 13);
  EXPECT_EQ(distance_part_begin(0), 0);
  EXPECT_EQ(distance_part_begin(1), 1);
  EXPECT_EQ(distance_part_begin(12), 2048);
}

}  // namespace
}  // namespace ropewalk
