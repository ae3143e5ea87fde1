#include "ropewalk/kernels/rows/query_rows.h"

#include <algorithm>

namespace ropewalk {

int64_t QueryRows::first_seen(int64_t query) const {
  return scores.window ? std::max<int64_t>(0, query - *scores.window + 1) : 0;
}

int64_t QueryRows::seen(int64_t query) const {
  return std::max<int64_t>(0, query + 1 - std::max(first_seen(query), kFirstKey));
}

bool reads_keys_evenly(const std::vector<int64_t>& kv, int64_t kv_heads) {
  const auto heads = static_cast<int64_t>(kv.size());
  bool even = heads % kv_heads == 0;
  for (int64_t i = 0; even && i < heads; ++i) {
    even = kv[static_cast<size_t>(i)] == i / (heads / kv_heads);
  }
  return even;
}

at::Tensor times_keys(const at::Tensor& vectors, const std::vector<int64_t>& kv,
                      const at::Tensor& keys) {
  const int64_t heads = vectors.size(0), n = vectors.size(1), d = vectors.size(2);
  const int64_t kv_heads = keys.size(0);
  const at::Tensor columns = keys.transpose(1, 2);  // [KV heads, d_head, keys]
  // Heads of a KV head follow each other: one product for each KV head, or for all at once.
  const auto first_of = [&](int64_t kv_head) {
    return std::lower_bound(kv.begin(), kv.end(), kv_head) - kv.begin();
  };
  if (reads_keys_evenly(kv, kv_heads)) {
    return at::bmm(vectors.reshape({kv_heads, -1, d}), columns).view({heads, n, keys.size(1)});
  }
  const at::Tensor made = at::empty({heads, n, keys.size(1)}, vectors.options());
  for (int64_t i = 0; i < kv_heads; ++i) {
    const int64_t begin = first_of(i), end = first_of(i + 1);
    if (begin == end) continue;
    at::Tensor to = made.slice(0, begin, end).view({(end - begin) * n, keys.size(1)});
    at::mm_out(to, vectors.slice(0, begin, end).reshape({-1, d}), columns[i]);
  }
  return made;
}

}  // namespace ropewalk
