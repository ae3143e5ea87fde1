#include "ropewalk/kernels/attention/moved_keys_cpu.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/kernels/attention/key_moves.h"
#include "ropewalk/kernels/clones.h"

namespace ropewalk {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kTile = 2 * kLanes;  // keys at once
constexpr int64_t kMostLines = 4;      // queries at once

using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));
using Places = int32_t __attribute__((vector_size(kLanes * sizeof(int32_t))));

ROPEWALK_INLINE void load(Lanes& value, const float* x) {
  __builtin_memcpy(&value, x, sizeof(value));
}

ROPEWALK_INLINE double total(const Lanes& x) {
  double sum = 0;
  for (int64_t i = 0; i < kLanes; ++i) sum += x[i];
  return sum;
}

// Products of `lines` queries, d apart, with the keys of a tile.
template <int64_t lines>
ROPEWALK_INLINE void multiply_tile(const float* queries, int64_t d, const float* keys,
                                   int64_t stride, float* made, int64_t size) {
  Lanes first[lines] = {}, second[lines] = {};
  for (int64_t i = 0; i < d; ++i) {
    Lanes a, b;
    load(a, keys + i * stride);
    load(b, keys + i * stride + kLanes);
    for (int64_t line = 0; line < lines; ++line) {
      first[line] += queries[line * d + i] * a;
      second[line] += queries[line * d + i] * b;
    }
  }
  for (int64_t line = 0; line < lines; ++line) {
    __builtin_memcpy(made + line * size, &first[line], sizeof(Lanes));
    __builtin_memcpy(made + line * size + kLanes, &second[line], sizeof(Lanes));
  }
}

// queries [lines, d] times `count` keys, columns of [d, stride]: [lines, size], of which the last
// ones may be of keys behind them.
ROPEWALK_CLONES void multiply_keys(const float* queries, int64_t lines, int64_t d,
                                   const float* keys, int64_t stride, int64_t count, float* made,
                                   int64_t size) {
  for (int64_t key = 0; key < count; key += kTile) {
    for (int64_t line = 0; line < lines; line += kMostLines) {
      const float* q = queries + line * d;
      float* to = made + line * size + key;
      switch (std::min(kMostLines, lines - line)) {
        case 1:
          multiply_tile<1>(q, d, keys + key, stride, to, size);
          break;
        case 2:
          multiply_tile<2>(q, d, keys + key, stride, to, size);
          break;
        case 3:
          multiply_tile<3>(q, d, keys + key, stride, to, size);
          break;
        default:
          multiply_tile<4>(q, d, keys + key, stride, to, size);
      }
    }
  }
}

// Sums over moved logits x, with the logits a of the same keys and b of the same places.
struct MovedSums {
  double x = 0, squares = 0, with_key = 0, with_place = 0;
};

// All arrays may be read up to a vector behind `count`. Of x, `mean` is taken away.
ROPEWALK_CLONES void add_products(const float* moved, const float* key, const float* place,
                                  int64_t count, float mean, MovedSums& sums) {
  Lanes x_sum = {}, squares = {}, with_key = {}, with_place = {};
  Places place_of{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  for (int64_t i = 0; i < count; i += kLanes) {
    Lanes x, a, b;
    load(x, moved + i);
    load(a, key + i);
    load(b, place + i);
    x -= mean;
    if (count - i < kLanes) {
      const Places there = place_of < static_cast<int32_t>(count - i);
      x = there ? x : Lanes{};
    }
    x_sum += x;
    squares += x * x;
    with_key += x * a;
    with_place += x * b;
  }
  sums.x += total(x_sum);
  sums.squares += total(squares);
  sums.with_key += total(with_key);
  sums.with_place += total(with_place);
}

// The sum of `count` numbers, and of their squares.
ROPEWALK_CLONES double sum_of(const float* x, int64_t count, double& squares) {
  Lanes sum = {}, square = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Lanes some;
    load(some, x + i);
    sum += some;
    square += some * some;
  }
  double all = total(sum);
  squares = total(square);
  for (; i < count; ++i) {
    all += x[i];
    squares += static_cast<double>(x[i]) * x[i];
  }
  return all;
}

ROPEWALK_CLONES void subtract(const float* x, int64_t count, float mean, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = x[i] - mean;
}

// Turns `count` pairs of numbers, the two of one `apart`, the next ones `step` on.
ROPEWALK_CLONES void turn_pairs(const float* x, const float* cos, const float* sin, int64_t count,
                                int64_t step, int64_t apart, float* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float a = x[i * step], b = x[i * step + apart];
    to[i * step] = a * cos[i] + b * sin[i];
    to[i * step + apart] = b * cos[i] - a * sin[i];
  }
}

// Rows of some heads in runs of keys.
class MovedRows {
 public:
  MovedRows(const QueryRows& all, const UncappedRows& rows)
      : all_(all),
        rows_(rows),
        heads_(all.heads()),
        count_(rows.logits.size(1)),
        d_(all.q.size(2)),
        width_(rows.logits.size(2) + kTile),
        last_(all.t[rows.end - 1]),
        centred_(static_cast<size_t>(heads_ * count_ * width_), 0.0F),
        lines_(static_cast<size_t>(heads_ * count_)) {
    for (int64_t row = 0; row < count_; ++row) {
      const int64_t t = all.t[rows.begin + static_cast<size_t>(row)];
      t_.push_back(t);
      first_.push_back(std::max(all.first_seen(t), QueryRows::kFirstKey));
    }
    if (all.scores.slopes.defined()) slopes_ = all.scores.slopes.to(at::kFloat).contiguous();
    centre();
  }

  void add_runs() {
    const int64_t shortest = shortest_run(all_.seen(last_));
    const std::vector<int64_t> runs =
        key_runs(all_.seed, QueryRows::kFirstKey, shortest, last_ + 1);
    for (int64_t row = 0; row < count_; ++row) {
      moves_.push_back(run_moves(runs, all_.seed, first_[static_cast<size_t>(row)],
                                 t_[static_cast<size_t>(row)]));
    }
    size_ = 2 * shortest + kTile;
    queries_ = all_.q.slice(1, static_cast<int64_t>(rows_.begin), static_cast<int64_t>(rows_.end))
                   .mul(all_.scores.scale)
                   .contiguous();
    for (size_t run = 0; run + 1 < runs.size(); ++run) {
      const int64_t begin = std::max(runs[run], rows_.from),
                    end = std::min(runs[run + 1], last_ + 1);
      if (begin < end) add_run(run, begin, end);
    }
  }

  MovedKeys found() const {
    const at::Tensor made = at::zeros({3, heads_, count_}, at::kFloat);
    auto numbers = made.accessor<float, 3>();
    for (int64_t head = 0; head < heads_; ++head) {
      for (int64_t row = 0; row < count_; ++row) {
        const Line& line = lines_[index(head, row)];
        const double n = keys_of(row);
        const double variance = line.sums.squares - line.sums.x * line.sums.x / n;
        const double floor = (n * line.mean * line.mean + line.before) * kStill;
        if (!(line.before > floor && variance > floor)) continue;
        const double size = std::sqrt(variance * line.before);
        const auto correlation = [&](double with) {
          return static_cast<float>(std::clamp(with / size, -1.0, 1.0));
        };
        numbers[0][head][row] = correlation(line.sums.with_place);
        numbers[1][head][row] = correlation(line.sums.with_key);
        numbers[2][head][row] = 1;
      }
    }
    return {made[0], made[1], made[2]};
  }

 private:
  struct Line {
    double mean = 0, before = 0;
    MovedSums sums;
  };

  size_t index(int64_t head, int64_t row) const { return static_cast<size_t>(head * count_ + row); }
  double keys_of(int64_t row) const {
    const auto at = static_cast<size_t>(row);
    return static_cast<double>(std::max<int64_t>(0, t_[at] + 1 - first_[at]));
  }
  // A head's and row's logits about their mean, from the first key of all on.
  float* centred(int64_t head, int64_t row) {
    return centred_.data() + static_cast<int64_t>(index(head, row)) * width_;
  }

  void centre() {
    const at::Tensor logits = rows_.logits.contiguous();
    const float* all = logits.const_data_ptr<float>();
    const int64_t keys = logits.size(2);
    for (int64_t head = 0; head < heads_; ++head) {
      for (int64_t row = 0; row < count_; ++row) {
        Line& line = lines_[index(head, row)];
        const float* from = all + (head * count_ + row) * keys;
        float* to = centred(head, row);
        const auto at = static_cast<size_t>(row);
        const int64_t begin = first_[at] - rows_.from, end = t_[at] + 1 - rows_.from;
        const int64_t n = std::max<int64_t>(end - begin, 0);
        double squares = 0;
        line.mean = n > 0 ? sum_of(from + begin, n, squares) / static_cast<double>(n) : 0;
        subtract(from + begin, n, static_cast<float>(line.mean), to + begin);
        sum_of(to + begin, n, line.before);
      }
    }
  }

  void add_run(size_t run, int64_t begin, int64_t end) {
    for (int64_t head = 0; head < heads_;) {
      int64_t next = head + 1;
      const int64_t kv = all_.kv[static_cast<size_t>(head)];
      while (next < heads_ && all_.kv[static_cast<size_t>(next)] == kv) ++next;
      const int64_t lines = (next - head) * count_;
      moved_.resize(static_cast<size_t>(lines * size_));
      if (all_.cos.defined()) {
        turned_.resize(static_cast<size_t>(lines * d_));
        for (int64_t row = 0; row < count_; ++row) turn(head, next, row, run);
        const int64_t stride = all_.columns.size(2);
        multiply_keys(turned_.data(), lines, d_,
                      all_.columns.const_data_ptr<float>() + kv * d_ * stride + begin, stride,
                      end - begin, moved_.data(), size_);
      }
      for (int64_t line = 0; line < lines; ++line) {
        add_line(head + line / count_, line % count_, run, begin, end,
                 moved_.data() + line * size_);
      }
      head = next;
    }
  }

  // `moved` is of the keys from `begin` on.
  void add_line(int64_t head, int64_t row, size_t run, int64_t begin, int64_t end, float* moved) {
    const auto at = static_cast<size_t>(row);
    const int64_t from = std::max(begin, first_[at]), to = std::min(end, t_[at] + 1);
    if (from >= to) return;
    const int64_t move = moves_[at][run];
    Line& line = lines_[index(head, row)];
    const float* logits = centred(head, row) - rows_.from;  // by position
    float mean = static_cast<float>(line.mean);
    const float slope = slopes_.defined() ? slopes_.const_data_ptr<float>()[head] : 0;
    if (!all_.cos.defined()) {
      for (int64_t key = from; key < to; ++key) {
        moved[key - begin] = logits[key] + slope * static_cast<float>(move);
      }
      mean = 0;
    } else if (slope != 0) {
      for (int64_t key = from; key < to; ++key) {
        moved[key - begin] -= slope * static_cast<float>(t_[at] - key - move);
      }
    }
    add_products(moved + (from - begin), logits + from, logits + from + move, to - from, mean,
                 line.sums);
  }

  // Queries of a row turned back as far as keys move, without what RoPE multiplies by beside
  // turning, which queries and keys have already.
  void turn(int64_t head, int64_t end, int64_t row, size_t run) {
    const int64_t pairs = all_.cos.size(1), move = moves_[static_cast<size_t>(row)][run];
    const float* factor = all_.cos.const_data_ptr<float>();
    const float* cos = factor + std::abs(move) * pairs;
    const float* sin = all_.sin.const_data_ptr<float>() + std::abs(move) * pairs;
    const float sign = move < 0 ? -1.0F : 1.0F;
    angle_.resize(static_cast<size_t>(2 * pairs));
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const float own = 1 / factor[pair];
      angle_[static_cast<size_t>(pair)] = cos[pair] * own;
      angle_[static_cast<size_t>(pairs + pair)] = sin[pair] * (own * sign);
    }
    const int64_t step = all_.interleaved ? 2 : 1, apart = all_.interleaved ? 1 : pairs;
    for (int64_t one = head; one < end; ++one) {
      const float* query = queries_.const_data_ptr<float>() + (one * count_ + row) * d_;
      float* to = turned_.data() + ((one - head) * count_ + row) * d_;
      turn_pairs(query, angle_.data(), angle_.data() + pairs, pairs, step, apart, to);
      std::copy(query + 2 * pairs, query + d_, to + 2 * pairs);
    }
  }

  // Below it a variance is rounding.
  static constexpr double kStill = 1e-10;

  const QueryRows& all_;
  const UncappedRows& rows_;
  int64_t heads_, count_, d_, width_, last_;
  int64_t size_ = 0;                // of the longest run, and a tile
  std::vector<int64_t> t_, first_;  // of each row: its position, and the first key it sees
  std::vector<float> centred_;      // [heads, rows, width]
  std::vector<Line> lines_;         // [heads, rows]
  std::vector<std::vector<int64_t>> moves_;
  std::vector<float> angle_, turned_, moved_;
  at::Tensor queries_;  // [heads, rows, d_head], times the scale
  at::Tensor slopes_;
};

}  // namespace

MovedKeys move_keys_cpu(const QueryRows& all, const UncappedRows& rows) {
  MovedRows moved(all, rows);
  moved.add_runs();
  return moved.found();
}

at::Tensor key_columns(const at::Tensor& keys) {
  // More, so that a tile may be read; and an odd number of cache lines, as of a power of two all
  // columns would share their places in a cache.
  const int64_t tokens = (keys.size(1) + kTile + kLanes) / kLanes | 1;
  const at::Tensor columns = at::zeros({keys.size(0), keys.size(2), tokens * kLanes}, at::kFloat);
  columns.narrow(2, 0, keys.size(1)).copy_(keys.transpose(1, 2));
  return columns;
}

}  // namespace ropewalk
