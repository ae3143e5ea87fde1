#include "ropewalk/moments/accumulator.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/moments/accumulators/second_moments.h"

namespace ropewalk {
namespace {

std::vector<const Accumulator*>& list() {
  // One line per file of accumulators/.
  static std::vector<const Accumulator*> all{&second_moments()};
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

BlockFields block_of(const std::vector<at::Tensor>& fields, int64_t block, const TokenSet& tokens) {
  BlockFields one;
  for (const at::Tensor& field : fields) one.numbers.push_back(field.select(1, block));
  one.tokens = tokens;
  return one;
}

void combine_blocks(const Accumulator& accumulator, const std::vector<at::Tensor>& whole,
                    const BlockCounts& whole_counts, const std::vector<at::Tensor>& part,
                    const BlockCounts& part_counts) {
  for (int64_t b = 0; b < whole_counts.blocks(); ++b) {
    if (part_counts.set(b).tokens == 0) continue;
    accumulator.combine(block_of(whole, b, whole_counts.set(b)),
                        block_of(part, b, part_counts.set(b)));
  }
}

}  // namespace ropewalk
