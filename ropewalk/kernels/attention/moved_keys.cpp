#include "ropewalk/kernels/attention/moved_keys.h"

#include <algorithm>

#include "ropewalk/kernels/attention/key_moves.h"
#include "ropewalk/kernels/attention/moved_keys_cpu.h"
#include "ropewalk/kernels/gpu/host_numbers.h"

namespace ropewalk {
namespace {

// Runs of keys side by side, each in as many columns as the longest one needs.
class RunColumns {
 public:
  RunColumns(const QueryRows& all, const UncappedRows& rows) : device_(all.q.device()) {
    const int64_t last = all.t[rows.end - 1];
    const int64_t shortest = shortest_run(all.seen(last));
    std::vector<int64_t> runs = key_runs(all.seed, QueryRows::kFirstKey, shortest, last + 1);
    std::vector<int64_t> moves, ts, firsts;
    size_t unseen = 0;  // by all of these rows
    while (runs[unseen + 1] <= rows.from) ++unseen;
    for (size_t row = rows.begin; row < rows.end; ++row) {
      const int64_t t = all.t[row], first = std::max(all.first_seen(t), QueryRows::kFirstKey);
      const std::vector<int64_t> own = run_moves(runs, all.seed, first, t);
      moves.insert(moves.end(), own.begin() + static_cast<std::ptrdiff_t>(unseen), own.end());
      ts.push_back(t);
      firsts.push_back(first);
    }
    runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(unseen));
    count_ = static_cast<int64_t>(runs.size()) - 1;
    longest_ = 2 * shortest - 1;
    index(runs, last);
    const auto column = [&](const std::vector<int64_t>& x) {
      return on_device(x, device_).unsqueeze(1);
    };
    const at::Tensor keys = on_device(keys_, device_);
    moves_ = on_device(moves, device_).view({-1, count_});
    t_ = column(ts);
    seen_ = keys.ge(column(firsts)).logical_and_(keys.le(t_)).logical_and_(keys.ge(0));
    indexes_ = keys + by_column(moves_);
    // Of what no row sees the first key of all stands in.
    index_ = keys.clamp_min(rows.from);
    padding_ = keys.lt(rows.from);
  }

  int64_t count() const { return count_; }
  int64_t longest() const { return longest_; }
  const at::Tensor& keys() const { return index_; }       // [columns]
  const at::Tensor& padding() const { return padding_; }  // [columns] bool: no key at all
  const at::Tensor& seen() const { return seen_; }        // [rows, columns] bool
  const at::Tensor& indexes() const {
    return indexes_;
  }                                                   // [rows, columns]: where keys come to stand
  const at::Tensor& moves() const { return moves_; }  // [rows, runs]
  const at::Tensor& t() const { return t_; }          // [rows, 1]
  // [rows, runs] → [rows, columns]
  at::Tensor by_column(const at::Tensor& x) const {
    return x.unsqueeze(2).expand({x.size(0), count_, longest_}).reshape({x.size(0), -1});
  }

 private:
  void index(const std::vector<int64_t>& runs, int64_t last) {
    for (size_t run = 0; run + 1 < runs.size(); ++run) {
      for (int64_t i = 0; i < longest_; ++i) {
        const int64_t key = runs[run] + i;
        keys_.push_back(key < runs[run + 1] && key <= last ? key : -1);
      }
    }
  }

  at::Device device_;
  int64_t count_ = 0, longest_ = 0;
  std::vector<int64_t> keys_;  // -1: none
  at::Tensor moves_, t_, seen_, indexes_, index_, padding_;
};

// q turned back as far as the keys of each run move: [KV heads, runs, heads of each, rows, d_head].
at::Tensor turned_queries(const QueryRows& all, const at::Tensor& q, const at::Tensor& moves) {
  const int64_t rows = moves.size(0), runs = moves.size(1), pairs = all.cos.size(1);
  const at::Tensor flat = moves.t().reshape({-1});  // [runs · rows]
  const auto table = [&](const at::Tensor& x) {
    // Without what RoPE multiplies by beside turning, which q and k have already.
    return x.index_select(0, flat.abs())
        .div_(all.cos.slice(0, 0, 1))
        .view({1, runs, 1, rows, pairs});
  };
  const at::Tensor cos = table(all.cos);
  const at::Tensor sin = table(all.sin) * flat.sign().view({1, runs, 1, rows, 1});
  const at::Tensor each = q.unsqueeze(1);  // [KV heads, 1, heads of each, rows, d_head]
  const at::Tensor turning = each.narrow(4, 0, 2 * pairs);
  const auto part = [&](const at::Tensor& x, int64_t second) {
    return all.interleaved ? x.slice(4, second, std::nullopt, 2)
                           : x.narrow(4, second * pairs, pairs);
  };
  const at::Tensor made = at::empty({q.size(0), runs, q.size(1), rows, q.size(3)}, q.options());
  const at::Tensor a = part(turning, 0), b = part(turning, 1),
                   turned = made.narrow(4, 0, 2 * pairs);
  part(turned, 0).copy_(a * cos).add_(b * sin);
  part(turned, 1).copy_(b * cos).sub_(a * sin);
  const int64_t rest = q.size(3) - 2 * pairs;
  if (rest > 0) made.narrow(4, 2 * pairs, rest).copy_(each.narrow(4, 2 * pairs, rest));
  return made;
}

// Logits of the moved keys by what RoPE makes of them: [heads, rows, columns].
at::Tensor turned_logits(const QueryRows& all, const UncappedRows& rows,
                         const RunColumns& columns) {
  const int64_t heads = all.heads(), count = static_cast<int64_t>(rows.end - rows.begin);
  const int64_t d = all.q.size(2);
  at::Tensor keys = all.k.index_select(1, columns.keys());  // [KV heads, columns, d_head]
  bool alike = heads % keys.size(0) == 0;
  for (int64_t i = 0; alike && i < heads; ++i) {
    alike = all.kv[static_cast<size_t>(i)] == i / (heads / keys.size(0));
  }
  if (!alike) keys = keys.index_select(0, on_device(all.kv, keys.device()));
  const int64_t kv = keys.size(0);
  const at::Tensor q =
      all.q.slice(1, static_cast<int64_t>(rows.begin), static_cast<int64_t>(rows.end))
          .mul(all.scores.scale)
          .view({kv, heads / kv, count, d});
  const at::Tensor queries = turned_queries(all, q, columns.moves());
  const at::Tensor made =
      at::bmm(queries.view({kv * columns.count(), -1, d}),
              keys.view({kv * columns.count(), columns.longest(), d}).transpose(1, 2));
  return made.view({kv, columns.count(), heads / kv, count, columns.longest()})
      .permute({0, 2, 3, 1, 4})
      .reshape({heads, count, -1});
}

}  // namespace

MovedKeys move_keys(const QueryRows& all, const UncappedRows& rows) {
  return all.q.device().is_cpu() ? move_keys_cpu(all, rows) : move_keys_by_operations(all, rows);
}

MovedKeys move_keys_by_operations(const QueryRows& all, const UncappedRows& rows) {
  const RunColumns columns(all, rows);
  const int64_t heads = all.heads(), count = rows.logits.size(1), keys = rows.logits.size(2);
  const at::Tensor n = rows.seen.sum(1);  // [rows]
  const at::Tensor mean =
      at::bmm(rows.logits.transpose(0, 1), rows.seen.unsqueeze(2)).transpose(0, 1) /
      n.view({1, count, 1});  // [heads, rows, 1]
  // About the mean; behind the keys, and where the row sees none, 0.
  const at::Tensor centred = at::zeros({heads, count, keys + 1}, rows.logits.options());
  at::Tensor there = centred.narrow(2, 0, keys);
  at::sub_out(there, rows.logits, mean).mul_(rows.seen);
  const auto index = [&](const at::Tensor& key, const at::Tensor& known) {
    return at::where(known, key - rows.from, keys);
  };
  const at::Tensor of_key =
      centred.index_select(2, index(columns.keys(), columns.padding().logical_not()));
  const at::Tensor at_place = centred.gather(
      2, index(columns.indexes(), columns.seen()).unsqueeze(0).expand({heads, -1, -1}));
  const at::Tensor& slopes = all.scores.slopes;
  at::Tensor moved;
  if (all.cos.defined()) {
    moved = turned_logits(all, rows, columns).sub_(mean);
    if (slopes.defined()) moved.sub_(slopes.view({-1, 1, 1}) * (columns.t() - columns.indexes()));
  } else {
    moved = of_key + slopes.view({-1, 1, 1}) * columns.by_column(columns.moves());
  }
  moved.mul_(columns.seen());
  const at::Tensor sum = moved.sum(2);
  const at::Tensor variance = at::linalg_vecdot(moved, moved) - sum.square() / n;
  const at::Tensor before = at::linalg_vecdot(centred, centred);
  // Below it a variance is rounding.
  constexpr double kStill = 1e-10;
  const at::Tensor floor = (n * mean.squeeze(2).square() + before) * kStill;
  const at::Tensor known = before.gt(floor).logical_and_(variance.gt(floor));
  const at::Tensor size = (variance.clamp_min(0) * before).sqrt();
  const auto correlation = [&](const at::Tensor& with) {
    return at::where(known, (at::linalg_vecdot(moved, with) / size).clamp(-1, 1), 0.0);
  };
  return {correlation(at_place), correlation(of_key), known.to(at::kFloat)};
}

}  // namespace ropewalk
