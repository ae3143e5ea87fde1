#include "ropewalk/moments/accumulators/accumulator.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/moments/accumulators/second_moments.h"

namespace ropewalk {

#define ROPEWALK_DECLARE(name) const Accumulator& name();
ROPEWALK_ACCUMULATORS(ROPEWALK_DECLARE)
#undef ROPEWALK_DECLARE

namespace {

std::vector<const Accumulator*>& list() {
#define ROPEWALK_ENTRY(name) , &name()
  static std::vector<const Accumulator*> all{&second_moments()
                                                 ROPEWALK_ACCUMULATORS(ROPEWALK_ENTRY)};
#undef ROPEWALK_ENTRY
  return all;
}

std::string field_name(const Accumulator& accumulator, const KeptField& field, const char* prefix) {
  const std::string name = accumulator.name();
  return fmt::format("{}{}{}.{}{}", name, name.empty() ? "" : ".", kind_name(field.kind), prefix,
                     field.name);
}

}  // namespace

const std::vector<const Accumulator*>& accumulators() { return list(); }

AddedAccumulator::AddedAccumulator(const Accumulator& accumulator) : accumulator_(&accumulator) {
  list().push_back(accumulator_);
}

AddedAccumulator::~AddedAccumulator() { std::erase(list(), accumulator_); }

const char* kind_name(StreamKind kind) { return kind == StreamKind::query ? "query" : "key"; }

std::string total_name(const Accumulator& accumulator, const KeptField& field) {
  return field_name(accumulator, field, "");
}

std::string blocks_name(const Accumulator& accumulator, const KeptField& field) {
  return field_name(accumulator, field, "block_");
}

namespace {

KeepCount count_of(bool) { return {}; }
KeepCount count_of(const KeepCount& count) { return count; }

}  // namespace

KeepRecords kept_records(const CaptureShape& shape) {
  KeepRecords records;
  for (const Accumulator* accumulator : list()) {
    const std::string name = accumulator->name();
    if (name.empty() || accumulator->fields(shape).empty()) continue;
    KeepRecord& record = records[name];
    record.numerics = accumulator->numerics();
    if (const KeepOption* const option = find_keep_option(name)) {
      record.count = option->visit(shape.keep, [](const auto& value) { return count_of(value); });
    }
  }
  return records;
}

int64_t field_size(const KeptField& field, int64_t blocks) {
  return field.width * (field.blocks ? blocks : 1);
}

BlockFields block_of(const std::vector<at::Tensor>& fields, int64_t block, const TokenSet& tokens) {
  BlockFields one;
  for (const at::Tensor& field : fields) {
    one.numbers.push_back(field.select(1, field.size(1) == 1 ? 0 : block));
  }
  one.tokens = tokens;
  return one;
}

namespace {

// Joins fields with blocks block by block, and fields without blocks once: together with the first
// block, unless the target holds them already.
class PartCombiner {
 public:
  PartCombiner(const std::vector<at::Tensor>& fields, int64_t blocks, bool there = false)
      : first_(!there) {
    for (const at::Tensor& field : fields) whole_.push_back(field.size(1) != blocks);
  }
  void combine(const Accumulator& accumulator, BlockFields whole, BlockFields part) {
    for (size_t i = 0; i < whole_.size() && !first_; ++i) {
      if (!whole_[i]) continue;
      whole.numbers[i] = whole.numbers[i].narrow(1, 0, 0);
      part.numbers[i] = part.numbers[i].narrow(1, 0, 0);
    }
    accumulator.combine(whole, part);
    first_ = false;
  }

 private:
  std::vector<bool> whole_;  // by field: whether it has no blocks
  bool first_;
};

}  // namespace

void combine_blocks(const Accumulator& accumulator, const std::vector<at::Tensor>& whole,
                    const BlockCounts& whole_counts, const std::vector<at::Tensor>& part,
                    const BlockCounts& part_counts) {
  if (whole.empty()) return;  // such a capture does not have the field
  PartCombiner joined(part, part_counts.blocks());
  for (int64_t b = 0; b < whole_counts.blocks(); ++b) {
    if (part_counts.set(b).tokens == 0) continue;
    joined.combine(accumulator, block_of(whole, b, whole_counts.set(b)),
                   block_of(part, b, part_counts.set(b)));
  }
}

std::vector<at::Tensor> total_of(const Accumulator& accumulator,
                                 const std::vector<at::Tensor>& blocks, const BlockCounts& counts) {
  BlockFields total;
  for (const at::Tensor& field : blocks) {
    total.numbers.push_back(field.size(1) != counts.blocks()
                                ? field.select(1, 0)
                                : at::zeros({field.size(0), field.size(2)}, at::kDouble));
  }
  PartCombiner once(blocks, counts.blocks(), true);
  BlockCounts joined(1);
  for (int64_t b = 0; b < counts.blocks(); ++b) {
    total.tokens = joined.set(0);
    if (counts.set(b).tokens > 0) {
      once.combine(accumulator, total, block_of(blocks, b, counts.set(b)));
    }
    joined.add_block(0, counts, b);
  }
  return total.numbers;
}

}  // namespace ropewalk
