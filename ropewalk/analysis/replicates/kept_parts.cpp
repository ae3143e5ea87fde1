#include "ropewalk/analysis/replicates/kept_parts.h"

#include <algorithm>
#include <limits>

namespace ropewalk {

// Every name in the list of accumulators needs a function of this name; without it the program does
// not link.
namespace parts_of {
#define ROPEWALK_DECLARE(name) std::unique_ptr<KeptParts> name(const AnalyzedCapture& capture);
ROPEWALK_ACCUMULATORS(ROPEWALK_DECLARE)
#undef ROPEWALK_DECLARE
}  // namespace parts_of

namespace {

std::vector<PartsReader>& list() {
#define ROPEWALK_ENTRY(name) PartsReader{#name, &parts_of::name},
  static std::vector<PartsReader> all{ROPEWALK_ACCUMULATORS(ROPEWALK_ENTRY)};
#undef ROPEWALK_ENTRY
  return all;
}

}  // namespace

const std::vector<PartsReader>& parts_readers() { return list(); }

std::unique_ptr<KeptParts> open_parts(const AnalyzedCapture& capture,
                                      const Accumulator& accumulator) {
  const auto& kept = capture.moments.accumulated;
  const bool there = std::any_of(kept.begin(), kept.end(), [&](const AccumulatedFields& one) {
    return one.accumulator == &accumulator;
  });
  if (!there) return nullptr;
  const auto reader = std::find_if(list().begin(), list().end(), [&](const PartsReader& one) {
    return one.accumulator == accumulator.name();
  });
  return reader->open(capture);
}

AddedPartsReader::AddedPartsReader(const PartsReader& reader) : accumulator_(reader.accumulator) {
  list().push_back(reader);
}

AddedPartsReader::~AddedPartsReader() {
  std::erase_if(list(), [&](const PartsReader& one) { return one.accumulator == accumulator_; });
}

CaptureParts::CaptureParts(const AnalyzedCapture& capture) {
  for (const AccumulatedFields& kept : capture.moments.accumulated) {
    for (const PartsReader& reader : parts_readers()) {
      if (reader.accumulator != kept.accumulator->name()) continue;
      opened_[reader.accumulator] = reader.open(capture);
    }
  }
}

void CaptureParts::give(std::map<std::string, std::any, std::less<>>& parts, StreamKind kind,
                        int64_t row) const {
  for (const auto& [name, opened] : opened_) {
    if (std::any part = opened->part(kind, row); part.has_value()) parts[name] = std::move(part);
  }
}

at::Tensor field_replicates(const KeptFields& kept, const std::string& field, int64_t row,
                            const std::vector<int64_t>& blocks) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor total = kept.total(field).select(0, row).unsqueeze(0);
  const auto count = static_cast<int64_t>(blocks.size());
  if (!kept.has_blocks()) {
    return at::cat({total, at::full({count, total.size(1)}, kNone, at::kDouble)});
  }
  const at::Tensor rows = at::tensor(blocks, at::kLong);
  const at::Tensor parts = kept.blocks(field).select(0, row).index_select(0, rows);
  return at::cat({total, total - parts.to(at::kDouble)});
}

at::Tensor token_replicates(const AnalyzedCapture& capture) {
  const BlockCounts& counts = capture.moments.counts;
  std::vector<double> tokens{static_cast<double>(counts.total_tokens())};
  for (const int64_t block : capture.blocks) {
    tokens.push_back(tokens.front() -
                     static_cast<double>(counts.tokens[static_cast<size_t>(block)]));
  }
  return at::tensor(tokens, at::kDouble);
}

}  // namespace ropewalk
