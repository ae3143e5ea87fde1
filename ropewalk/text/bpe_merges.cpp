#include "ropewalk/text/bpe_merges.h"

#include <algorithm>
#include <bit>

namespace ropewalk {
namespace {

constexpr uint32_t kNoRank = ~uint32_t{0};
constexpr size_t kShort = 24;  // up to here looking at every pair beats a queue

// For short words: the ranks of all pairs are kept side by side and searched each time.
void merge_short(const BpeMerges& merges, BpeScratch& scratch) {
  std::vector<int32_t>& ids = scratch.ids;
  uint32_t ranks[kShort];
  int32_t made[kShort];
  size_t pairs = ids.size() - 1;
  const auto look_up = [&](size_t pair) {
    const BpeMerges::Merge* merge = merges.find(ids[pair], ids[pair + 1]);
    ranks[pair] = merge ? merge->rank : kNoRank;
    made[pair] = merge ? merge->id : -1;
  };
  for (size_t pair = 0; pair < pairs; ++pair) look_up(pair);
  while (pairs > 0) {
    const size_t best = static_cast<size_t>(std::min_element(ranks, ranks + pairs) - ranks);
    if (ranks[best] == kNoRank) break;
    ids[best] = made[best];
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    std::copy(ranks + best + 1, ranks + pairs, ranks + best);
    std::copy(made + best + 1, made + pairs, made + best);
    --pairs;
    if (best > 0) look_up(best - 1);
    if (best < pairs) look_up(best);
  }
}

// For long words: a queue of candidates over a linked list. Candidates are not taken out of the
// queue when a neighbour changes, but recognised as out of date when their turn comes.
void merge_long(const BpeMerges& merges, BpeScratch& scratch) {
  using Candidate = BpeScratch::Candidate;
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  const auto count = static_cast<int32_t>(scratch.ids.size());
  symbols.resize(scratch.ids.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)] = {scratch.ids[static_cast<size_t>(i)], i - 1,
                                       i + 1 < count ? i + 1 : -1};
  }
  const auto symbol = [&](int32_t position) -> BpeScratch::Symbol& {
    return symbols[static_cast<size_t>(position)];
  };
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  const auto add_candidate = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const BpeMerges::Merge* merge = merges.find(symbol(left).id, symbol(right).id);
    if (merge) queue.push_back({merge->rank, static_cast<uint32_t>(left), merge->id});
    return merge != nullptr;
  };

  queue.clear();
  for (int32_t i = 0; i + 1 < count; ++i) add_candidate(i, i + 1);
  std::make_heap(queue.begin(), queue.end(), later);
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const Candidate best = queue.back();
    queue.pop_back();
    const auto left = static_cast<int32_t>(best.position);
    const int32_t right = symbol(left).next;
    if (symbol(left).id < 0 || right < 0) continue;  // merged away, or nothing follows
    const BpeMerges::Merge* merge = merges.find(symbol(left).id, symbol(right).id);
    if (!merge || merge->id != best.id) continue;

    symbol(left).id = best.id;
    symbol(left).next = symbol(right).next;
    if (symbol(right).next >= 0) symbol(symbol(right).next).previous = left;
    symbol(right).id = -1;
    for (const auto& [a, b] :
         {std::pair(symbol(left).previous, left), std::pair(left, symbol(left).next)}) {
      if (add_candidate(a, b)) std::push_heap(queue.begin(), queue.end(), later);
    }
  }

  scratch.ids.clear();
  for (const BpeScratch::Symbol& alive : symbols) {
    if (alive.id >= 0) scratch.ids.push_back(alive.id);
  }
}

}  // namespace

BpeMerges::BpeMerges(size_t count)
    : slots_(std::bit_ceil(std::max<size_t>(2 * count, 2))), mask_(slots_.size() - 1) {}

void BpeMerges::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask_;
  slots_[at] = {key, merge};
}

void merge_all(const BpeMerges& merges, BpeScratch& scratch) {
  if (scratch.ids.size() < 2) return;
  if (scratch.ids.size() <= kShort) {
    merge_short(merges, scratch);
  } else {
    merge_long(merges, scratch);
  }
}

}  // namespace ropewalk
