#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/moments/copied_piece.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Token ids of which probes are made: those that are not special; and what stands in front of every
// text.
struct ProbeWords {
  std::vector<int32_t> ids;
  std::vector<int32_t> prefix;
};
// Those of a tokenizer that a model with ids below `vocabulary` knows; without a tokenizer all ids,
// and no prefix. Throws InputError where there are fewer than two.
ProbeWords find_probe_words(const std::optional<std::filesystem::path>& tokenizer,
                            int64_t vocabulary);

inline constexpr int64_t kProbeSequences = 64;  // of each kind

// Synthetic documents that repeat random tokens, and how.
struct ProbeSet {
  DocumentSet documents;
  std::map<int64_t, CopiedPiece> pieces;  // by index of the document
};

// The probes whose sequences fit into a context: 50 tokens twice (`induction`), 25 tokens four
// times
// (`prefix`), and 50 tokens twice at distances of 64, 256, 1,024 … with other tokens between
// (`induction_far`). Tokens are drawn independently and uniformly from the words; the same at every
// context. Empty where none fits.
ProbeSet make_probes(const ProbeWords& words, int64_t context);

// The tokens of the shortest of them.
int64_t shortest_probe(const ProbeWords& words);

// "induction", "prefix" or "induction_far".
std::string probe_kind(const CopiedPiece& piece);

// The lines of probes.jsonl (docs/formats.md). `models`: those that read them, where not all do.
std::string format_probes(const ProbeSet& probes, const std::vector<std::string>& models = {});

}  // namespace ropewalk
