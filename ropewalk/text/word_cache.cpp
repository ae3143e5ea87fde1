#include "ropewalk/text/word_cache.h"

#include <algorithm>
#include <functional>

namespace ropewalk {
namespace {

constexpr size_t kSlots = size_t{1} << 16;

uint64_t hash_of(std::string_view word) { return std::hash<std::string_view>()(word); }

}  // namespace

WordCache::WordCache() : entries_(kSlots) {}

size_t WordCache::slot_of(uint64_t hash, std::string_view word) const {
  for (size_t at = hash & (kSlots - 1);; at = (at + 1) & (kSlots - 1)) {
    const Entry& entry = entries_[at];
    if (entry.text_size == 0) return at;
    if (entry.hash == hash && std::string_view(text_).substr(entry.text, entry.text_size) == word) {
      return at;
    }
  }
}

std::optional<std::span<const int32_t>> WordCache::find(std::string_view word) const {
  const Entry& entry = entries_[slot_of(hash_of(word), word)];
  if (entry.text_size == 0) return std::nullopt;
  return std::span<const int32_t>(ids_).subspan(entry.ids, entry.id_count);
}

void WordCache::store(std::string_view word, std::span<const int32_t> ids) {
  if (word.empty() || word.size() > kLongestWord) return;
  if (used_ == kSlots / 2) {
    std::fill(entries_.begin(), entries_.end(), Entry{});
    used_ = 0;
    text_.clear();
    ids_.clear();
  }
  const uint64_t hash = hash_of(word);
  entries_[slot_of(hash, word)] = {
      hash, static_cast<uint32_t>(text_.size()), static_cast<uint32_t>(ids_.size()),
      static_cast<uint16_t>(word.size()), static_cast<uint16_t>(ids.size())};
  ++used_;
  text_ += word;
  ids_.insert(ids_.end(), ids.begin(), ids.end());
}

}  // namespace ropewalk
