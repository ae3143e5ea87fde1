#include "ropewalk/moments/files/merge.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"

namespace ropewalk {
namespace {

// An input whose streams are not read yet.
struct OpenInput {
  MergeInput source;
  CaptureMoments head;
};

void check_documents(const std::vector<OpenInput>& inputs) {
  std::map<int64_t, const std::string*> by_index;
  std::map<uint64_t, const std::string*> by_digest;
  for (const OpenInput& input : inputs) {
    const std::string& name = input.source.name;
    for (const DocumentRecord& document : input.head.documents) {
      const auto [index, new_index] = by_index.try_emplace(document.index, &name);
      if (!new_index) {
        throw InputError("{} and {} cannot be merged: both hold document {}", *index->second, name,
                         document.index);
      }
      // Within one capture a corpus may repeat itself; across captures a repeat means that the same
      // text was captured twice.
      const auto [digest, new_digest] = by_digest.try_emplace(document.digest, &name);
      if (!new_digest && digest->second != &name) {
        throw InputError(
            "{} and {} cannot be merged: document {} of the latter is also in the former "
            "(digest {:016x})",
            *digest->second, name, document.index, document.digest);
      }
    }
  }
}

// Gives both tensors the larger width and a type that holds both: of a compact field, one part may
// have room for fewer documents, or narrower numbers.
void make_alike(at::Tensor& a, at::Tensor& b) {
  const int64_t width = std::max(a.size(1), b.size(1));
  const at::ScalarType type = at::promote_types(a.scalar_type(), b.scalar_type());
  for (at::Tensor* one : {&a, &b}) {
    if (one->size(1) < width) *one = at::constant_pad_nd(*one, {0, width - one->size(1)});
    *one = one->to(type);
  }
}

// Joins what an accumulator kept: the total, and block by block.
void join_kept(AccumulatedFields& whole, const BlockCounts& counts, AccumulatedFields& part,
               const BlockCounts& part_counts) {
  const Accumulator& accumulator = *whole.accumulator;
  std::vector<at::Tensor> others;
  for (at::Tensor& field : whole.blocks) field = field.to(at::kDouble);
  for (const at::Tensor& field : part.blocks) others.push_back(field.to(at::kDouble));
  combine_blocks(accumulator, whole.blocks, counts, others, part_counts);
  for (size_t i = 0; i < whole.total.size(); ++i) make_alike(whole.total[i], part.total[i]);
  accumulator.combine({whole.total, counts.joined().set(0)},
                      {part.total, part_counts.joined().set(0)});
}

// Sorts documents, and the values of each, by their indexes.
void join_documents(CaptureMoments& whole, const CaptureMoments& part) {
  std::vector<DocumentRecord> both = whole.documents;
  both.insert(both.end(), part.documents.begin(), part.documents.end());
  std::vector<int64_t> order(both.size());
  std::iota(order.begin(), order.end(), 0);
  const auto index = [&](int64_t row) { return both[static_cast<size_t>(row)].index; };
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return index(a) < index(b); });
  join_values(whole.document_values, part.document_values, order);
  whole.documents.clear();
  for (const int64_t row : order) whole.documents.push_back(both[static_cast<size_t>(row)]);
}

// The first of many names, and the number of further ones.
class MissingNames {
 public:
  void add(const std::string& name, int64_t count = 1) {
    if (names_.size() < kShown) names_.push_back(name);
    count_ += count;
  }
  bool any() const { return count_ > 0; }
  int64_t shown() const { return static_cast<int64_t>(names_.size()); }
  static constexpr size_t kShown = 5;
  std::string describe(const std::string& what) const {
    std::string text =
        fmt::format("{}{} {}", what, count_ == 1 ? "" : "s", fmt::join(names_, ", "));
    if (count_ > shown()) text += fmt::format(" and {} more", count_ - shown());
    return text;
  }

 private:
  std::vector<std::string> names_;
  int64_t count_ = 0;
};

// The numbers from 0 that are not in `present`, up to `last`.
MissingNames missing_numbers(const std::set<int64_t>& present, int64_t last,
                             const std::function<std::string(int64_t)>& name) {
  MissingNames missing;
  int64_t expected = 0;
  const auto gap = [&](int64_t end) {  // a gap may be huge, and only a few of its numbers are named
    for (; expected < end && missing.shown() < static_cast<int64_t>(MissingNames::kShown);
         ++expected) {
      missing.add(name(expected));
    }
    if (expected < end) missing.add({}, end - expected);
    expected = end;
  };
  for (const int64_t number : present) {
    gap(number);
    expected = number + 1;
  }
  gap(last);
  return missing;
}

std::string describe_missing(const std::vector<OpenInput>& inputs) {
  std::set<int64_t> present;
  std::set<int64_t> shard_counts;
  for (const OpenInput& input : inputs) {
    for (const DocumentRecord& document : input.head.documents) present.insert(document.index);
    const std::optional<Shard>& shard = input.head.info.shard;
    shard_counts.insert(shard ? shard->count : 0);
  }
  if (present.empty()) return {};
  if (shard_counts.size() == 1 && *shard_counts.begin() > 1) {
    const int64_t count = *shard_counts.begin();
    std::set<int64_t> shards;
    for (const int64_t index : present) shards.insert(index % count);
    const MissingNames missing =
        missing_numbers(shards, count, [&](int64_t i) { return fmt::format("{}/{}", i, count); });
    if (missing.any()) return missing.describe("shard");
  }
  const MissingNames missing =
      missing_numbers(present, *present.rbegin(), [](int64_t i) { return std::to_string(i); });
  return missing.any() ? missing.describe("document") : std::string();
}

bool everywhere(const std::vector<OpenInput>& inputs, const std::string& name) {
  return std::all_of(inputs.begin(), inputs.end(), [&](const OpenInput& input) {
    return input.head.info.accumulators.contains(name);
  });
}

}  // namespace

void join_capture(CaptureMoments& whole, CaptureMoments part) {
  if (whole.blocks() != part.blocks() || whole.queries != part.queries || whole.keys != part.keys) {
    throw InputError("captures of {} and {} query heads in {} and {} blocks cannot be joined",
                     whole.queries.size(), part.queries.size(), whole.blocks(), part.blocks());
  }
  // What one side lacks, or has in another version, the sum lacks too.
  const auto differs = [&](const std::string& name) {
    const auto mine = whole.info.accumulators.find(name), other = part.info.accumulators.find(name);
    const bool known =
        mine != whole.info.accumulators.end() && other != part.info.accumulators.end();
    return known && mine->second != other->second;
  };
  std::erase_if(whole.accumulated, [&](AccumulatedFields& kept) {
    const auto same = [&](const AccumulatedFields& one) {
      return one.accumulator == kept.accumulator;
    };
    const auto found = std::find_if(part.accumulated.begin(), part.accumulated.end(), same);
    if (found == part.accumulated.end() || differs(kept.accumulator->name())) return true;
    join_kept(kept, whole.counts, *found, part.counts);
    return false;
  });
  std::erase_if(part.document_values, [&](const DocumentValues& one) { return differs(one.name); });
  std::erase_if(whole.info.accumulators, [&](const auto& kept) {
    return !part.info.accumulators.contains(kept.first) || differs(kept.first);
  });
  whole.counts.add(part.counts);
  join_documents(whole, part);
  whole.info.documents = whole.counts.total_documents();
  whole.info.tokens = whole.counts.total_tokens();
  whole.info.corpus = documents_digest(whole.documents);
  whole.info.seconds += part.info.seconds;
}

void add_kept(CaptureMoments& whole, CaptureMoments part, const std::set<std::string>& names) {
  const bool documents =
      std::equal(whole.documents.begin(), whole.documents.end(), part.documents.begin(),
                 part.documents.end(), [](const DocumentRecord& a, const DocumentRecord& b) {
                   return a.index == b.index && a.digest == b.digest;
                 });
  if (!documents || whole.counts.tokens != part.counts.tokens || whole.queries != part.queries ||
      whole.keys != part.keys) {
    throw InputError(
        "captures of {} and {} documents in {} and {} blocks do not hold the same documents",
        whole.documents.size(), part.documents.size(), whole.blocks(), part.blocks());
  }
  std::map<const Accumulator*, AccumulatedFields> kept;
  for (CaptureMoments* one : {&whole, &part}) {
    for (AccumulatedFields& fields : one->accumulated) {
      const bool named = names.contains(fields.accumulator->name());
      if (named == (one == &part)) kept[fields.accumulator] = std::move(fields);
    }
  }
  whole.accumulated.clear();
  for (const Accumulator* accumulator : accumulators()) {  // in the order of files
    const auto found = kept.find(accumulator);
    if (found != kept.end()) whole.accumulated.push_back(std::move(found->second));
  }
  for (DocumentValues& values : part.document_values) {  // together with their values
    std::erase_if(whole.document_values,
                  [&](const DocumentValues& one) { return one.name == values.name; });
    whole.document_values.push_back(std::move(values));
  }
  for (const std::string& name : names) {
    whole.info.accumulators.erase(name);
    const auto found = part.info.accumulators.find(name);
    if (found != part.info.accumulators.end()) whole.info.accumulators.insert(*found);
  }
  if (!part.info.head_weights.empty()) whole.info.head_weights = part.info.head_weights;
  whole.info.seconds += part.info.seconds;
}

CaptureMoments merge_moments(const std::vector<MergeInput>& sources, std::string& missing) {
  if (sources.empty()) throw UsageError("[merge_moments] nothing to merge");
  std::vector<OpenInput> inputs;
  for (const MergeInput& source : sources) {
    inputs.push_back({source, read_moments_head(source.file)});
    if (source.names) inputs.back().head.info.names() = *source.names;
    require_mergeable(inputs.front().head.info, sources.front().name, inputs.back().head.info,
                      source.name);
  }
  check_documents(inputs);
  missing = describe_missing(inputs);
  const auto lowest = [](const OpenInput& input) {
    return input.head.documents.empty() ? INT64_MAX : input.head.documents.front().index;
  };
  std::stable_sort(inputs.begin(), inputs.end(),
                   [&](const OpenInput& a, const OpenInput& b) { return lowest(a) < lowest(b); });
  const auto read = [](const OpenInput& input) {
    return input.head.info.values_alone() ? input.head : read_moments(input.source.file);
  };
  CaptureMoments merged = read(inputs.front());
  merged.info.names() = inputs.front().head.info.names();
  for (size_t i = 1; i < inputs.size(); ++i) {
    throw_if_interrupted();
    join_capture(merged, read(inputs[i]));
  }
  for (const OpenInput& input : inputs) {
    for (const auto& [name, record] : input.head.info.accumulators) {
      if (merged.info.accumulators.contains(name)) continue;
      log::warning("{}: has {}, which another input lacks{}; the merged capture will not have it",
                   input.source.name, name,
                   everywhere(inputs, name) ? " of the same numerics" : "");
    }
  }
  merged.info.shard.reset();
  if (merged.info.corpus == merged.info.full_corpus_digest)
    merged.info.full_corpus_digest.clear();  // nothing is missing
  return merged;
}

}  // namespace ropewalk
