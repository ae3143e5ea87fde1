#include "ropewalk/kernels/moments/lags.h"

#include <algorithm>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/moments/lag_shifts.h"
#include "ropewalk/kernels/moments/lags_cpu.h"

namespace ropewalk {
namespace {

// Tokens of a part: small enough that threads have parts to share. Prefix sums begin anew in each.
constexpr int64_t kRun = 256;
// The count of numbers of queries that stay in the fastest cache while all shifts are summed.
constexpr int64_t kSlice = 4096;

// Sums of the keys of the KV heads that are read. From each key the mean of its head over a few
// tokens is subtracted, so that the sums stay small.
struct KeySums {
  at::Tensor mean;     // [heads, d] float64, of float32 numbers
  at::Tensor within;   // [heads, T, d] float32: sums from the beginning of a part up to each token
  at::Tensor earlier;  // [heads, parts + 1, d] float64: sums of the tokens before each part

  KeySums of(int64_t head) const {
    return {mean.select(0, head), within.select(0, head), earlier.select(0, head)};
  }
};

KeySums sum_keys(const at::Tensor& k, const std::vector<int64_t>& heads) {
  const int64_t tokens = k.size(1), d = k.size(2), parts = at::divup(tokens, kRun);
  const auto count = static_cast<int64_t>(heads.size());
  constexpr int64_t kFew = 64;
  const at::Tensor means = at::empty({count, d}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    const at::Tensor all = k.select(0, heads[static_cast<size_t>(i)]);
    means.select(0, i).copy_(
        at::mean(all.slice(0, 0, tokens, at::divup(tokens, kFew)), {0}, false, at::kFloat));
  }
  KeySums sums{means.to(at::kDouble), at::empty({count, tokens, d}, at::kFloat),
               at::zeros({count, parts + 1, d}, at::kDouble)};
  at::parallel_for(0, count * parts, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / count * kRun, last = std::min(first + kRun, tokens);
      const at::Tensor rows = sums.within.select(0, i % count).slice(0, first, last);
      rows.copy_(k.select(0, heads[static_cast<size_t>(i % count)]).slice(0, first, last));
      prefix_rows(rows.mutable_data_ptr<float>(), means.const_data_ptr<float>() + i % count * d,
                  last - first, d);
      sums.earlier.select(0, i % count).select(0, i / count + 1).copy_(rows[last - first - 1]);
    }
  });
  sums.earlier = sums.earlier.cumsum(1);
  return sums;
}

// The sums of all shifts of one query head, over the queries of a part.
class PartSums {
 public:
  PartSums(const LagShifts& shifts, int64_t d) : shifts_(shifts), d_(d) {
    std::set<int64_t> cuts{0, kRun};
    for (const int64_t bound : shifts.bound) cuts.insert(bound % kRun);
    cuts_.assign(cuts.begin(), cuts.end());
    below_.resize(cuts_.size() * static_cast<size_t>(d));
  }

  // Adds the products of these queries to `sums`, which has one number per single shift, then one
  // per bound. q [last - first, d] holds the queries from token `first` on, k the keys of the head
  // from token `k_first` on, and `keys` the sums of its keys.
  void add(const at::Tensor& q, int64_t first, const at::Tensor& k, int64_t k_first,
           const KeySums& keys, double* sums) {
    q_ = q.const_data_ptr<float>();
    first_ = first;
    last_ = first + q.size(0);
    const int64_t rows = std::max<int64_t>(1, kSlice / d_);
    for (int64_t begin = first_; begin < last_; begin += rows) {
      const int64_t end = std::min(begin + rows, last_);
      double* to = sums;
      for (const int64_t shift : shifts_.single) {
        *to++ += products(begin, end, shift, k.const_data_ptr<float>(), k_first);
      }
      for (const int64_t shift : shifts_.bound) {
        *to++ += products(begin, end, shift, keys.within.const_data_ptr<float>(), 0);
      }
    }
    sum_queries(keys.mean);
    for (size_t i = 0; i < shifts_.bound.size(); ++i) {
      sums[shifts_.single.size() + i] += with_sums(shifts_.bound[i], keys.earlier);
    }
  }

 private:
  // The sum of the products of the queries from `begin` on with the rows of `keys` a shift before
  // them, where there are any.
  double products(int64_t begin, int64_t end, int64_t shift, const float* keys,
                  int64_t keys_first) const {
    begin = std::max(begin, shift);
    if (begin >= end) return 0;
    return float_dot(q_ + (begin - first_) * d_, keys + (begin - shift - keys_first) * d_,
                     (end - begin) * d_);
  }

  // Sums the queries before each cut of the part, and their products with the mean key, plain and
  // times their tokens.
  void sum_queries(const at::Tensor& mean) {
    std::fill(below_.begin(), below_.end(), 0.0);
    const auto with_mean = [&](const double* sum) {
      return difference_dot(mean.const_data_ptr<double>(), sum, below(0), d_);
    };
    with_mean_.assign(cuts_.size(), {});
    for (size_t i = 1; i < cuts_.size(); ++i) {
      std::vector<double> times(static_cast<size_t>(d_), 0.0);
      const double* const above = below(i - 1);
      std::copy(above, above + d_, below(i));
      const int64_t from = std::min(cuts_[i - 1], last_ - first_);
      const int64_t to = std::min(cuts_[i], last_ - first_);
      add_rows(q_ + from * d_, to - from, d_, below(i), times.data());
      const WithMean& last = with_mean_[i - 1];
      const double sum = with_mean(below(i));
      const auto token = static_cast<double>(first_ + from);
      with_mean_[i] = {sum, last.times + with_mean(times.data()) + token * (sum - last.sum)};
    }
  }
  double* below(size_t cut) { return below_.data() + cut * static_cast<size_t>(d_); }

  // What the prefix sums within a part lack: the sums of earlier parts, and the mean key for as
  // many keys as each query has at this shift and beyond. The keys of the first queries end in one
  // part, those of the others in the next.
  double with_sums(int64_t shift, const at::Tensor& earlier) {
    const int64_t part = first_ / kRun - shift / kRun;
    const auto cut = static_cast<size_t>(
        std::lower_bound(cuts_.begin(), cuts_.end(), shift % kRun) - cuts_.begin());
    const auto earlier_of = [&](int64_t one) {
      return earlier.const_data_ptr<double>() + one * earlier.stride(0);
    };
    double sum = 0;
    if (part > 0) sum += difference_dot(earlier_of(part - 1), below(cut), below(0), d_);
    if (part >= 0) {
      sum += difference_dot(earlier_of(part), below(cuts_.size() - 1), below(cut), d_);
      const WithMean &all = with_mean_.back(), &none = with_mean_[part == 0 ? cut : 0];
      sum += all.times - none.times - static_cast<double>(shift - 1) * (all.sum - none.sum);
    }
    return sum;
  }

  const LagShifts& shifts_;
  int64_t d_;
  std::vector<int64_t> cuts_;
  std::vector<double> below_;  // [cuts, d]
  // For the queries before each cut: the sum of their products with the mean key, and the sum of
  // these products times each query's token.
  struct WithMean {
    double sum = 0;
    double times = 0;
  };
  std::vector<WithMean> with_mean_;
  const float* q_ = nullptr;
  int64_t first_ = 0, last_ = 0;
};

std::vector<int64_t> list_of(const at::Tensor& heads) {
  const at::Tensor list = heads.to(at::kLong).contiguous();
  const auto* data = list.const_data_ptr<int64_t>();
  return {data, data + list.numel()};
}

void add_on_cpu(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                const std::vector<DistanceWindow>& windows, const LagSums& to) {
  const int64_t tokens = q.size(1), group = q.size(0) / k.size(0);
  const LagShifts shifts(windows, tokens);
  const std::vector<int64_t> queries = list_of(heads.queries), keys = list_of(heads.keys);
  const KeySums sums = sum_keys(k, keys);
  const auto count = static_cast<int64_t>(queries.size());
  const int64_t parts = at::divup(tokens, kRun);
  const int64_t reach = shifts.single.empty() ? 0 : shifts.single.back();
  const at::Tensor found = at::zeros({parts, count, shifts.count()}, at::kDouble);
  at::parallel_for(0, parts * count, 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    PartSums part(shifts, q.size(2));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = queries[static_cast<size_t>(i % count)];
      const int64_t index = std::lower_bound(keys.begin(), keys.end(), head / group) - keys.begin();
      const int64_t first = i / count * kRun, last = std::min(first + kRun, tokens);
      const int64_t near = std::max<int64_t>(0, first - reach);
      const auto rows = [](const at::Tensor& of, int64_t one, int64_t from, int64_t until) {
        return of.select(0, one).slice(0, from, until).to(at::kFloat).contiguous();
      };
      part.add(rows(q, head, first, last), first, rows(k, head / group, near, last), near,
               sums.of(index), found.mutable_data_ptr<double>() + i * shifts.count());
    }
  });
  const at::Tensor all = found.sum(0);  // [heads, shifts]
  for (size_t i = 0; i < windows.size(); ++i) {
    const LagShifts::Places indexes = shifts.of(windows[i]);
    const auto column = static_cast<int64_t>(i);
    if (indexes.first >= 0) to.sum.select(1, column).add_(all.select(1, indexes.first));
    if (indexes.last >= 0) to.sum.select(1, column).sub_(all.select(1, indexes.last));
    to.count.select(1, column).add_(pairs_in(windows[i], tokens));
  }
}

void add_on_gpu(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                const std::vector<DistanceWindow>& windows, const LagSums& to) {
  cuda::LagsPass pass;
  pass.type = number_type(q);
  pass.queries = heads_of(q, heads.queries);
  pass.keys = heads_of(k, heads.keys);
  pass.group = q.size(0) / k.size(0);
  pass.tokens = q.size(1);
  pass.d = q.size(2);
  const LagShifts shifts(windows, pass.tokens);
  if (pass.d > cuda::kMostLagDimensions || windows.size() > cuda::kMostLagWindows ||
      shifts.count() > cuda::kMostLagShifts) {
    throw SystemError(
        "logits by distance: found {} windows of distances and {} dimensions, expected at most {} "
        "and {} on a GPU; use --device cpu",
        windows.size(), pass.d, cuda::kMostLagWindows, cuda::kMostLagDimensions);
  }
  for (const std::vector<int64_t>* list : {&shifts.single, &shifts.bound}) {
    for (const int64_t shift : *list) pass.add_shift(shift, list == &shifts.bound);
  }
  for (const DistanceWindow& window : windows) {
    const LagShifts::Places indexes = shifts.of(window);
    pass.add_window(indexes.first, indexes.last, pairs_in(window, pass.tokens));
  }
  const at::Tensor earlier = at::empty({pass.keys.count, pass.runs(), pass.d}, to.sum.options());
  const at::Tensor within = at::empty({pass.keys.count, pass.runs(), pass.offsets, pass.d},
                                      to.sum.options().dtype(at::kFloat));
  const at::Tensor parts =
      at::empty({pass.runs() * pass.slices(), pass.queries.count, pass.shifts}, to.sum.options());
  pass.before = earlier.mutable_data_ptr<double>();
  pass.within = within.mutable_data_ptr<float>();
  pass.parts = parts.mutable_data_ptr<double>();
  pass.sum = to.sum.mutable_data_ptr<double>();
  pass.count = to.count.mutable_data_ptr<double>();
  pass.stride = to.sum.stride(0);
  cuda::run(pass, current_stream(q));
}

}  // namespace

std::vector<DistanceWindow> distance_windows(int64_t context, std::optional<int64_t> sliding,
                                             int64_t first) {
  constexpr int64_t kAlone = 4;
  const int64_t end = std::min(context, sliding.value_or(context)), last = context - first;
  std::vector<DistanceWindow> windows;
  for (int64_t at = 0; at < std::min({kAlone, end, last}); ++at) windows.push_back({at, at + 1});
  const auto add = [&](int64_t begin) {
    if (5 * begin < 4 * end && begin < last) {
      windows.push_back({begin, std::min(2 * begin, end)});
    }
  };
  for (int64_t power = kAlone; power < end; power *= 2) {
    add(power);
    add(power + power / 2);
  }
  return windows;
}

void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<DistanceWindow>& windows, const LagSums& to) {
  (q.is_cuda() ? add_on_gpu : add_on_cpu)(q, k, heads, windows, to);
}

int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device) {
  constexpr auto kDouble = static_cast<int64_t>(sizeof(double));
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  if (device.is_cuda()) {
    cuda::LagsPass pass;
    pass.tokens = tokens;
    pass.d = d;
    return pass.runs() * (pass.slices() * q_heads * cuda::kMostLagShifts * kDouble +
                          kv_heads * d * (kDouble + cuda::kMostLagOffsets * kSingle));
  }
  const int64_t parts = at::divup(tokens, kRun);
  return kv_heads * d * (tokens * kSingle + 2 * (parts + 1) * kDouble) +
         at::get_num_threads() * 2 * std::min(tokens, kRun) * d * kSingle +
         parts * q_heads * cuda::kMostLagShifts * kDouble;
}

}  // namespace ropewalk
