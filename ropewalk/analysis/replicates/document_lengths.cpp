#include "ropewalk/analysis/replicates/document_lengths.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {
namespace {

// The common length of all documents; 0: lengths differ. Among all lengths with the same sum, equal
// ones have the smallest mean position, so the counts show whether all are equal.
int64_t one_length(const BlockCounts& counts) {
  const int64_t documents = counts.total_documents(), tokens = counts.total_tokens();
  if (documents == 0 || tokens % documents != 0) return 0;
  const int64_t length = tokens / documents;
  if (length > kLongestDocument) return 0;
  const auto mean = static_cast<double>(length - 1) / 2;
  for (size_t b = 0; b < counts.tokens.size(); ++b) {
    if (counts.tokens[b] == 0) continue;
    const bool so_many = counts.tokens[b] == counts.documents[b] * length;
    if (!so_many || std::abs(counts.position_mean[b] - mean) > 1e-9 * (1 + mean)) return 0;
  }
  return length;
}

// Whether blocks with documents of these lengths would have these counts.
bool agree(const std::vector<LengthCounts>& blocks, const BlockCounts& counts) {
  for (size_t b = 0; b < blocks.size(); ++b) {
    int64_t documents = 0, tokens = 0;
    for (const auto& [length, count] : blocks[b]) {
      documents += count;
      tokens += length * count;
    }
    if (documents != counts.documents[b] || tokens != counts.tokens[b]) return false;
  }
  return true;
}

}  // namespace

std::optional<DocumentLengths> document_lengths(const CaptureMoments& moments) {
  const BlockCounts& counts = moments.counts;
  DocumentLengths found;
  if (const int64_t length = one_length(counts); length > 0) {
    found.all[length] = counts.total_documents();
    for (const int64_t documents : counts.documents) {
      found.of_block.push_back(documents > 0 ? LengthCounts{{length, documents}} : LengthCounts{});
    }
    return found;
  }
  // Documents are dealt to blocks in turn, except for pieces of longer texts.
  const auto blocks = static_cast<size_t>(moments.blocks());
  found.of_block.resize(blocks);
  int64_t tokens = 0;
  for (const DocumentRecord& document : moments.documents) {
    if (document.tokens <= 0 || document.tokens > kLongestDocument) return std::nullopt;
    ++found.all[document.tokens];
    ++found.of_block[static_cast<size_t>(document.index) % blocks][document.tokens];
    tokens += document.tokens;
  }
  if (tokens != counts.total_tokens()) return std::nullopt;
  if (!agree(found.of_block, counts)) found.of_block.clear();
  return found;
}

}  // namespace ropewalk
