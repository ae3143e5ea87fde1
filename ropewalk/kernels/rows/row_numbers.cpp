#include "ropewalk/kernels/rows/row_numbers.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "ropewalk/kernels/rows/moved_keys.h"
#include "ropewalk/kernels/rows/row_spans.h"

namespace ropewalk {
namespace {

using Row = RowNumber;
// A logit of a key that is not seen. Finite, as 0 times infinity is no number.
constexpr double kHidden = -1e30;

// Rows that are computed together, and the keys that some of them see.
class RowChunk {
 public:
  RowChunk(const QueryRows& all, size_t begin, size_t end)
      : all_(all),
        begin_(begin),
        end_(end),
        from_(all.first_seen(all.t[begin])),
        keys_(all.t[end - 1] + 1 - from_),
        t_(by_row([](int64_t t) { return t; })) {
    const at::Tensor key = at::arange(from_, from_ + keys_, t_.options());
    distance_ = t_.unsqueeze(1) - key;  // [rows, keys]
    hidden_ = distance_.lt(0);
    if (all.scores.window) hidden_.logical_or_(distance_.ge(*all.scores.window));
    late_ = hidden_.logical_not().logical_and_(key.ge(QueryRows::kFirstKey));
    seen_ = by_row([&](int64_t t) { return all_.seen(t); });
  }

  // Fills the rows' part of everything.
  void add_to(const RowNumbers& all) {
    numbers_ = all.numbers.slice(1, static_cast<int64_t>(begin_), static_cast<int64_t>(end_));
    set(Row::rows, at::ones_like(t_));
    const at::Tensor p = weights();
    set_near(p);
    p.narrow(2, 0, early()).zero_();
    const at::Tensor sums = p.cumsum(2);
    set_by_distance(sums, all.distances);
    set_by_key(p);
    add_strongest(p);
  }

  // [heads, kStrongest, 3]
  const at::Tensor& strongest() const { return strongest_; }

 private:
  static constexpr int64_t kFirst = QueryRows::kFirstKey;

  // The number of keys in the chunk that come before kFirstKey.
  int64_t early() const { return std::clamp<int64_t>(kFirst - from_, 0, keys_); }

  template <typename Of>
  at::Tensor by_row(const Of& of) const {
    std::vector<int64_t> numbers;
    for (size_t row = begin_; row < end_; ++row) numbers.push_back(of(all_.t[row]));
    return at::tensor(numbers, at::kLong);
  }
  // [rows] or [heads, rows]
  void set(int64_t column, const at::Tensor& numbers) { numbers_.select(2, column).copy_(numbers); }
  // Sets how many rows have a number, and that number where they do.
  void set(int64_t count, int64_t column, const at::Tensor& there, const at::Tensor& numbers) {
    set(count, there);
    set(column, numbers * there);
  }
  // Of keys at places [rows] among the chunk's keys; 0 of those before them.
  static at::Tensor at_places(const at::Tensor& x, const at::Tensor& indexes) {
    const at::Tensor index =
        indexes.clamp_min(0).view({1, -1, 1}).expand({x.size(0), indexes.size(0), 1});
    return x.gather(2, index).squeeze(2) * indexes.ge(0);
  }

  at::Tensor weights();
  void set_moved(const at::Tensor& logits);
  void set_near(const at::Tensor& p);
  void set_by_distance(const at::Tensor& sums, const at::Tensor& distances);
  void set_by_key(const at::Tensor& p);
  void add_strongest(const at::Tensor& p);

  const QueryRows& all_;
  size_t begin_, end_;
  int64_t from_, keys_;
  at::Tensor t_;         // [rows]
  at::Tensor distance_;  // [rows, keys]
  at::Tensor hidden_;    // [rows, keys] bool
  at::Tensor late_;      // [rows, keys] bool: seen, from kFirstKey on
  at::Tensor seen_;      // [rows]: how many of them
  at::Tensor numbers_;
  at::Tensor strongest_;
};

// The softmax of the logits, [heads, rows, keys], and what is read off on the way.
at::Tensor RowChunk::weights() {
  const ScoreOptions& scores = all_.scores;
  const auto of_rows = [&](const at::Tensor& x) {
    return x.slice(1, static_cast<int64_t>(begin_), static_cast<int64_t>(end_));
  };
  at::Tensor x =
      times_keys(of_rows(all_.q) * scores.scale, all_.kv, all_.k.slice(1, from_, from_ + keys_));
  at::Tensor bias;  // [heads, rows, keys]
  if (scores.slopes.defined()) bias = scores.slopes.view({-1, 1, 1}) * distance_;
  if (all_.has_places()) set_moved(bias.defined() ? x - bias : x);
  if (scores.cap) x.div_(*scores.cap).tanh_().mul_(*scores.cap);
  if (bias.defined()) x.sub_(bias);
  x.masked_fill_(hidden_, kHidden);
  at::Tensor top = x.amax(2);
  set(Row::largest, top);
  at::Tensor sink;  // [heads, rows]
  if (scores.sinks.defined()) {
    const at::Tensor learned = scores.sinks.to(at::kFloat).unsqueeze(1);
    top = at::maximum(top, learned);
    sink = learned - top;
  }
  x.sub_(top.unsqueeze(2));
  const at::Tensor p = x.exp();
  at::Tensor total = p.sum(2);
  if (sink.defined()) total = total + sink.exp();
  p.div_(total.unsqueeze(2));
  // -Σ p ln p, where ln p = x - ln total.
  at::Tensor mean = at::linalg_vecdot(p, x);
  if (sink.defined()) {
    const at::Tensor learned = sink.exp() / total;
    set(Row::learned, learned);
    mean = mean + learned * sink;
  }
  set(Row::entropy, (total.log() - mean).clamp_min(0));
  return p;
}

void RowChunk::set_moved(const at::Tensor& logits) {
  const at::Tensor there = t_.ge(kFirstMoved);
  if (all_.t[end_ - 1] < kFirstMoved) return;
  const MovedKeys moved = move_keys(all_, {begin_, end_, from_, logits, late_.to(at::kFloat)});
  const at::Tensor known = moved.known * there;
  set(Row::moved_rows, known);
  set(Row::still_rows, there.to(at::kFloat) - known);
  set(Row::positional, moved.positional * there);
  set(Row::symbolic, moved.symbolic * there);
}

void RowChunk::set_near(const at::Tensor& p) {
  if (from_ == 0) set(Row::sink, p.select(2, 0));
  set(Row::first4, p.narrow(2, 0, early()).sum(2));
  set(Row::self, at_places(p, t_ - from_));
  set(Row::previous_rows, Row::previous, t_.gt(kFirst), at_places(p, t_ - from_ - 1));
}

// Of the sums of p over all late keys up to each, from the farthest on.
void RowChunk::set_by_distance(const at::Tensor& sums, const at::Tensor& distances) {
  const int64_t parts = distances.size(2);
  std::vector<int64_t> away;
  for (int64_t part = 0; part < parts; ++part) away.push_back(distance_part_begin(part));
  for (const int64_t far : kFar) away.push_back(far + 1);
  // [rows, parts and far ones]: the place of the nearest key so far away
  const at::Tensor indexes = (t_ - from_).unsqueeze(1) - at::tensor(away, at::kLong).unsqueeze(0);
  const at::Tensor beyond =
      sums.gather(2, indexes.clamp_min(0).unsqueeze(0).expand({sums.size(0), -1, -1})) *
      indexes.ge(0);
  const at::Tensor mass = beyond.narrow(2, 0, parts);
  const at::Tensor mine =
      distances.slice(1, static_cast<int64_t>(begin_), static_cast<int64_t>(end_));
  mine.copy_(mass);
  mine.narrow(2, 0, parts - 1).sub_(mass.narrow(2, 1, parts - 1));
  set(Row::late, mass.select(2, 0));
  for (int64_t i = 0; i < static_cast<int64_t>(std::size(kFar)); ++i) {
    const int64_t far = kFar[i];
    const bool reaches = !all_.scores.window || *all_.scores.window > far;
    const at::Tensor there = reaches ? t_.ge(2 * far) : at::zeros_like(t_);
    set(Row::far_rows + i, Row::far + i, there, beyond.select(2, parts + i));
  }
}

// What hangs on which key it is; the same for all heads, so that one product does for them.
void RowChunk::set_by_key(const at::Tensor& p) {
  const at::Tensor own = all_.tokens.index_select(0, t_).unsqueeze(1);  // [rows, 1]
  const at::Tensor keys = all_.tokens.slice(0, from_, from_ + keys_);
  const at::Tensor earlier = late_.logical_and(distance_.gt(0));
  const at::Tensor echo = own.eq(keys).logical_and_(earlier);
  at::Tensor copy = at::zeros_like(echo);
  if (keys_ > 1) copy.slice(1, 1).copy_(own.eq(keys.slice(0, 0, keys_ - 1)));
  // Where it is cut off, the key before the first one is none of the chunk's.
  if (from_ > kFirst) copy.select(1, 0).copy_(own.squeeze(1).eq(all_.tokens[from_ - 1]));
  copy.logical_and_(earlier);
  if (from_ <= kFirst && kFirst - from_ < keys_) copy.select(1, kFirst - from_).zero_();
  const at::Tensor away = (distance_.clamp_min(0) + 1).to(at::kFloat).log2_();
  const at::Tensor of_key =
      at::stack({away, echo.to(at::kFloat), copy.to(at::kFloat)}, 2);  // [rows, keys, 3]
  const at::Tensor sums = at::bmm(p.transpose(0, 1), of_key).transpose(0, 1);
  set(Row::reach, sums.select(2, 0));
  const at::Tensor late = numbers_.select(2, Row::late);
  const auto set_lift = [&](int64_t column, const at::Tensor& such, const at::Tensor& sum) {
    const at::Tensor found = such.sum(1);  // [rows]
    set(column, found.gt(0));
    set(column + 1, sum);
    set(column + 2, late * (found / seen_.to(at::kDouble)));
  };
  set_lift(Row::echo_rows, echo, sums.select(2, 1));
  set_lift(Row::copy_rows, copy, sums.select(2, 2));
}

// Overwrites p.
void RowChunk::add_strongest(const at::Tensor& p) {
  const int64_t heads = p.size(0), rows = p.size(1);
  p.scatter_(2, (t_ - from_).view({1, rows, 1}).expand({heads, rows, 1}), 0);
  const at::Tensor lines = p.view({heads * rows, keys_});
  const at::Tensor first = at::arange(heads, t_.options()) * rows;  // line of each head
  const at::Tensor best = p.amax(2);                                // [heads, rows]
  std::vector<at::Tensor> found;
  for (int64_t i = 0; i < kStrongest; ++i) {
    const at::Tensor row = best.argmax(1);                        // [heads]
    const at::Tensor there = lines.index_select(0, first + row);  // [heads, keys]
    const at::Tensor key = there.argmax(1, /*keepdim=*/true);     // [heads, 1]
    const at::Tensor value = there.gather(1, key).squeeze(1);
    found.push_back(at::stack({t_.index_select(0, row).to(at::kDouble),
                               (key.squeeze(1) + from_).to(at::kDouble), value.to(at::kDouble)},
                              1));
    if (i + 1 == kStrongest) break;
    there.scatter_(1, key, 0);
    lines.index_copy_(0, first + row, there);
    best.scatter_(1, row.unsqueeze(1), there.amax(1, /*keepdim=*/true));
  }
  strongest_ = at::stack(found, 1);
}

// Of equal ones the first: chunks come by t.
at::Tensor strongest_of(const std::vector<at::Tensor>& chunks) {
  const at::Tensor all = at::cat(chunks, 1);  // [heads, …, 3]
  const at::Tensor order = std::get<1>(at::sort(all.select(2, 2), /*stable=*/true, 1, true));
  return all.gather(1, order.narrow(1, 0, kStrongest).unsqueeze(2).expand({-1, -1, 3}));
}

}  // namespace

int64_t distance_parts(int64_t tokens) {
  return 1 + static_cast<int64_t>(
                 std::bit_width(static_cast<uint64_t>(std::max<int64_t>(tokens - 1, 0))));
}

int64_t distance_part_begin(int64_t part) { return part == 0 ? 0 : int64_t{1} << (part - 1); }

RowNumbers row_numbers(const QueryRows& given, int64_t parts) {
  QueryRows rows = given;
  if (rows.cos.defined()) rows.columns = key_columns(rows.k);
  const auto numbers = rows.q.options().dtype(at::kDouble);
  RowNumbers all{at::zeros({rows.heads(), rows.rows(), Row::count}, numbers),
                 at::empty({rows.heads(), rows.rows(), parts}, numbers),
                 {}};
  const std::vector<RowSpan> spans = split_rows(rows);
  std::vector<at::Tensor> strongest(spans.size());
  const bool inference = c10::InferenceMode::is_enabled();
  const auto compute = [&](int64_t begin, int64_t end) {
    const c10::InferenceMode mode(inference);  // of each thread
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      RowChunk chunk(rows, spans[i].begin, spans[i].end);
      chunk.add_to(all);
      strongest[i] = chunk.strongest();
    }
  };
  // Operations on small tensors use one core.
  at::parallel_for(0, static_cast<int64_t>(spans.size()), 1, compute);
  all.strongest = strongest_of(strongest);
  return all;
}

int64_t row_numbers_workspace(int64_t heads, int64_t kv_heads, int64_t rows, int64_t tokens,
                              int64_t d_head) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const int64_t together =
      std::min(rows, at::get_num_threads() * chunk_rows(heads, tokens, d_head));
  // Logits, their softmax and its sums; logits about their mean, of moved keys, and of the same
  // places and keys. The keys and those of runs; places of keys; the rows' numbers.
  const int64_t logits = 8 * together * row_size(heads, tokens, d_head) * kSingle;
  const int64_t keys = 3 * kv_heads * tokens * d_head * kSingle;
  return logits + keys + 12 * together * tokens * 8 + 3 * heads * rows * Row::count * 8;
}

}  // namespace ropewalk
