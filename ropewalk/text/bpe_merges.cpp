#include "ropewalk/text/bpe_merges.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <utility>

namespace ropewalk {
namespace {

constexpr uint32_t kNoRank = ~uint32_t{0};
constexpr size_t kFew = 24;  // up to here looking at every pair beats a queue

}  // namespace

BpeMerges::BpeMerges(std::span<const Rule> rules, std::span<const int32_t> symbols)
    : merges_(rules.size()) {
  for (size_t rank = 0; rank < rules.size(); ++rank) {
    merges_.set(rules[rank].left, rules[rank].right,
                {static_cast<uint32_t>(rank), rules[rank].made});
  }
  find_joints(rules, symbols);
}

void BpeMerges::find_joints(std::span<const Rule> rules, std::span<const int32_t> symbols) {
  // First and last symbol of every token. A rule may use a token that a later one makes, so rules
  // are read until nothing changes; in ranked order that is once or twice. Where that takes long or
  // a token can be had with different ends (none of the known tokenizers has such), words are
  // simply not cut.
  struct Ends {
    int32_t first;
    int32_t last;
  };
  std::unordered_map<int32_t, Ends> ends;
  ends.reserve(rules.size() + symbols.size());
  for (const int32_t symbol : symbols) ends[symbol] = {symbol, symbol};
  constexpr int kMostRounds = 100;
  int round = 0;
  for (bool changed = true; changed;) {
    if (++round > kMostRounds) return;
    changed = false;
    for (const Rule& rule : rules) {
      const auto left = ends.find(rule.left);
      const auto right = ends.find(rule.right);
      if (left == ends.end() || right == ends.end()) continue;  // cannot come about so far
      const Ends made{left->second.first, right->second.last};
      const auto [known, is_new] = ends.try_emplace(rule.made, made);
      if (known->second.first != made.first || known->second.last != made.last) return;
      changed = changed || is_new;
    }
  }
  joints_ = PairTable<bool>(rules.size());
  for (const Rule& rule : rules) {
    const auto left = ends.find(rule.left);
    const auto right = ends.find(rule.right);
    if (left != ends.end() && right != ends.end()) {
      joints_.set(left->second.last, right->second.first, true);
    }
  }
  joints_known_ = true;
}

void BpeMerges::apply(BpeScratch& scratch) const {
  const std::span<int32_t> ids(scratch.ids);
  if (ids.size() <= kFew) return scratch.ids.resize(merge_few(ids));
  size_t kept = 0;
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    end = begin + 1;
    if (joints_known_) {
      while (end < ids.size() && joints_.find(ids[end - 1], ids[end])) ++end;
    } else {
      end = ids.size();
    }
    const std::span<int32_t> part = ids.subspan(begin, end - begin);
    const size_t count = part.size() <= kFew ? merge_few(part) : merge_many(part, scratch);
    std::copy_n(part.begin(), count, ids.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += count;
  }
  scratch.ids.resize(kept);
}

// The ranks of all pairs are kept side by side and searched each time. Returns how many ids are
// left.
size_t BpeMerges::merge_few(std::span<int32_t> ids) const {
  std::array<uint32_t, kFew> ranks;
  std::array<int32_t, kFew> made;
  size_t count = ids.size();
  const auto look_up = [&](size_t pair) {
    const Merge* merge = merges_.find(ids[pair], ids[pair + 1]);
    ranks[pair] = merge ? merge->rank : kNoRank;
    made[pair] = merge ? merge->id : -1;
  };
  for (size_t pair = 0; pair + 1 < count; ++pair) look_up(pair);
  while (count > 1) {
    const auto end = ranks.begin() + count - 1;
    const auto best = static_cast<size_t>(std::min_element(ranks.begin(), end) - ranks.begin());
    if (ranks[best] == kNoRank) break;
    ids[best] = made[best];
    for (size_t i = best + 1; i + 1 < count; ++i) {
      ids[i] = ids[i + 1];
      ranks[i - 1] = ranks[i];
      made[i - 1] = made[i];
    }
    --count;
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  return count;
}

// A queue of candidates over a linked list. Candidates stay in the queue when a neighbour changes,
// and are recognised as out of date when their turn comes: no two pairs have the same rank. Returns
// how many ids are left.
size_t BpeMerges::merge_many(std::span<int32_t> ids, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& queue = scratch.queue;
  const auto count = static_cast<int32_t>(ids.size());
  symbols.clear();
  for (int32_t i = 0; i < count; ++i) {
    symbols.push_back({ids[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  }
  const auto symbol = [&](int32_t i) -> BpeScratch::Symbol& {
    return symbols[static_cast<size_t>(i)];
  };
  const auto add_candidate = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const Merge* merge = merges_.find(symbol(left).id, symbol(right).id);
    if (merge) queue.push_back(uint64_t{merge->rank} << 32 | static_cast<uint32_t>(left));
    return merge != nullptr;
  };

  queue.clear();
  for (int32_t i = 0; i + 1 < count; ++i) add_candidate(i, i + 1);
  std::make_heap(queue.begin(), queue.end(), std::greater<>());
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>());
    const uint64_t best = queue.back();
    queue.pop_back();
    const auto left = static_cast<int32_t>(best & 0xFFFFFFFF);
    const int32_t right = symbol(left).next;
    if (symbol(left).id < 0 || right < 0) continue;  // merged away, or nothing follows
    const Merge* merge = merges_.find(symbol(left).id, symbol(right).id);
    if (!merge || merge->rank != best >> 32) continue;

    symbol(left).id = merge->id;
    symbol(left).next = symbol(right).next;
    if (symbol(right).next >= 0) symbol(symbol(right).next).previous = left;
    symbol(right).id = -1;
    for (const auto& [a, b] :
         {std::pair(symbol(left).previous, left), std::pair(left, symbol(left).next)}) {
      if (add_candidate(a, b)) std::push_heap(queue.begin(), queue.end(), std::greater<>());
    }
  }

  size_t kept = 0;
  for (const BpeScratch::Symbol& last : symbols) {
    if (last.id >= 0) ids[kept++] = last.id;
  }
  return kept;
}

}  // namespace ropewalk
