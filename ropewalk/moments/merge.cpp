#include "ropewalk/moments/merge.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Fields of info that must agree.
constexpr const char* kAgreeing[] = {"format", "model", "weights", "config", "tokenizer", "context",
                                     "dtype",  "point", "label",   "random", "chunk"};

std::string shorten(std::string text) {
  constexpr size_t kLimit = 60;
  if (text.size() > kLimit) text = text.substr(0, kLimit) + "…";
  return text;
}

void check_agreement(const NamedMoments& first, const NamedMoments& other) {
  for (const char* field : kAgreeing) {
    const Json mine = first.moments.info.value(field, Json());
    const Json theirs = other.moments.info.value(field, Json());
    if (mine == theirs) continue;
    // Of objects, name the key that differs.
    std::string where = field;
    Json a = mine;
    Json b = theirs;
    if (mine.is_object() && theirs.is_object()) {
      for (const auto& [key, value] : mine.items()) {
        if (theirs.value(key, Json()) != value) {
          where = fmt::format("{}.{}", field, key);
          a = value;
          b = theirs.value(key, Json());
          break;
        }
      }
    }
    throw InputError("{} and {} cannot be merged: '{}' is {} and {}", first.name, other.name, where,
                     shorten(a.dump()), shorten(b.dump()));
  }
  if (first.moments.blocks() != other.moments.blocks()) {
    throw InputError("{} and {} cannot be merged: 'blocks' is {} and {}", first.name, other.name,
                     first.moments.blocks(), other.moments.blocks());
  }
  if (first.moments.queries.places != other.moments.queries.places ||
      first.moments.keys.places != other.moments.keys.places) {
    throw InputError("{} and {} cannot be merged: 'heads' are not the same ({} and {} query heads)",
                     first.name, other.name, first.moments.queries.places.size(),
                     other.moments.queries.places.size());
  }
}

void check_documents(const std::vector<NamedMoments>& inputs) {
  std::map<int64_t, const std::string*> by_index;
  std::map<uint64_t, const std::string*> by_digest;
  for (const NamedMoments& input : inputs) {
    for (const DocumentRecord& document : input.moments.documents) {
      const auto [index, new_index] = by_index.try_emplace(document.index, &input.name);
      if (!new_index) {
        throw InputError("{} and {} cannot be merged: both hold document {}", *index->second,
                         input.name, document.index);
      }
      // Within one capture a corpus may repeat itself; across captures it means the same text
      // twice.
      const auto [digest, new_digest] = by_digest.try_emplace(document.digest, &input.name);
      if (!new_digest && digest->second != &input.name) {
        throw InputError(
            "{} and {} cannot be merged: document {} of the latter is also in the former "
            "(digest {:016x})",
            *digest->second, input.name, document.index, document.digest);
      }
    }
  }
}

void join_sets(StreamSet& whole, const BlockCounts& counts, const StreamSet& part,
               const BlockCounts& part_counts) {
  BlockCounts all(1);
  BlockCounts all_part(1);
  for (int64_t b = 0; b < counts.blocks(); ++b) {
    const auto place = static_cast<size_t>(b);
    join_moments(
        block_view(whole.blocks, b),
        {static_cast<double>(counts.tokens[place]), counts.position_mean[place]},
        block_view(part.blocks, b),
        {static_cast<double>(part_counts.tokens[place]), part_counts.position_mean[place]});
    all.add_block(0, counts, b);
    all_part.add_block(0, part_counts, b);
  }
  join_moments(whole.total, {static_cast<double>(all.tokens[0]), all.position_mean[0]}, part.total,
               {static_cast<double>(all_part.tokens[0]), all_part.position_mean[0]});
}

void widen(StreamSet& set) {
  set.blocks.position = set.blocks.position.to(at::kDouble);
  set.blocks.products = set.blocks.products.to(at::kDouble);
}

}  // namespace

CaptureMoments merge_moments(std::vector<NamedMoments> inputs) {
  if (inputs.empty()) throw UsageError("[merge_moments] nothing to merge");
  for (const NamedMoments& input : inputs) check_agreement(inputs.front(), input);
  check_documents(inputs);
  const auto lowest = [](const NamedMoments& input) {
    return input.moments.documents.empty() ? INT64_MAX : input.moments.documents.front().index;
  };
  std::stable_sort(inputs.begin(), inputs.end(), [&](const NamedMoments& a, const NamedMoments& b) {
    return lowest(a) < lowest(b);
  });
  CaptureMoments merged = std::move(inputs.front().moments);
  widen(merged.queries);
  widen(merged.keys);
  for (size_t i = 1; i < inputs.size(); ++i) {
    CaptureMoments& part = inputs[i].moments;
    widen(part.queries);
    widen(part.keys);
    join_sets(merged.queries, merged.counts, part.queries, part.counts);
    join_sets(merged.keys, merged.counts, part.keys, part.counts);
    for (int64_t b = 0; b < merged.blocks(); ++b) merged.counts.add_block(b, part.counts, b);
    merged.documents.insert(merged.documents.end(), part.documents.begin(), part.documents.end());
  }
  std::sort(merged.documents.begin(), merged.documents.end(),
            [](const DocumentRecord& a, const DocumentRecord& b) { return a.index < b.index; });
  merged.info["documents"] = merged.counts.total_documents();
  merged.info["tokens"] = merged.counts.total_tokens();
  merged.info["corpus"] = documents_digest(merged.documents);
  merged.info.erase("shard");
  return merged;
}

std::string describe_missing(const std::vector<NamedMoments>& inputs) {
  constexpr size_t kShown = 5;
  std::set<int64_t> present;
  std::set<int64_t> shard_counts;
  for (const NamedMoments& input : inputs) {
    for (const DocumentRecord& document : input.moments.documents) present.insert(document.index);
    const Json shard = input.moments.info.value("shard", Json());
    const bool known = shard.is_array() && shard.size() == 2 && shard[1].is_number_integer();
    shard_counts.insert(known ? shard[1].get<int64_t>() : 0);
  }
  if (present.empty()) return {};
  std::vector<std::string> missing;
  const auto say = [&](const std::string& what) {
    std::string text = fmt::format(
        "{}",
        fmt::join(missing.begin(),
                  missing.begin() + static_cast<std::ptrdiff_t>(std::min(missing.size(), kShown)),
                  ", "));
    if (missing.size() > kShown) text += fmt::format(" and {} more", missing.size() - kShown);
    return fmt::format("{} {}", what, text);
  };
  if (shard_counts.size() == 1 && *shard_counts.begin() > 1) {
    const int64_t count = *shard_counts.begin();
    std::set<int64_t> shards;
    for (const int64_t index : present) shards.insert(index % count);
    for (int64_t i = 0; i < count; ++i) {
      if (!shards.contains(i)) missing.push_back(fmt::format("{}/{}", i, count));
    }
    if (!missing.empty()) return say(missing.size() == 1 ? "shard" : "shards");
  }
  int64_t expected = 0;
  for (const int64_t index : present) {
    for (; expected < index; ++expected) missing.push_back(std::to_string(expected));
    ++expected;
  }
  return missing.empty() ? std::string() : say(missing.size() == 1 ? "document" : "documents");
}

}  // namespace ropewalk
