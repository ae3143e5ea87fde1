#include "ropewalk/kernels/rows/moved_keys.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ropewalk/kernels/rows/key_moves.h"
#include "ropewalk/kernels/rows/moved_key_loops.h"

namespace ropewalk {
namespace {

// Rows of some heads in runs of keys.
class MovedRows {
 public:
  MovedRows(const QueryRows& all, const UncappedRows& rows)
      : all_(all),
        rows_(rows),
        heads_(all.heads()),
        count_(rows.logits.size(1)),
        d_(all.q.size(2)),
        width_(rows.logits.size(2) + kMovedKeyTile),
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
    size_ = 2 * shortest + kMovedKeyTile;
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
        const double floor = (n * line.mean * line.mean + line.before) * kStillLogits;
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

MovedKeys move_keys(const QueryRows& all, const UncappedRows& rows) {
  MovedRows moved(all, rows);
  moved.add_runs();
  return moved.found();
}

at::Tensor key_columns(const at::Tensor& keys) {
  // More, so that a tile may be read; and an odd number of cache lines, as of a power of two all
  // columns would share their places in a cache.
  constexpr int64_t kLine = 64 / sizeof(float);
  const int64_t lines = (keys.size(1) + kMovedKeyTile + kLine) / kLine | 1;
  const at::Tensor columns = at::zeros({keys.size(0), keys.size(2), lines * kLine}, at::kFloat);
  columns.narrow(2, 0, keys.size(1)).copy_(keys.transpose(1, 2));
  return columns;
}

}  // namespace ropewalk
