#include "ropewalk/study/capture/probes.h"

#include <algorithm>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/split_mix.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

constexpr int64_t kTwice = 50;      // tokens that are repeated once
constexpr int64_t kFourTimes = 25;  // tokens that are repeated three times
constexpr int64_t kNearest = 64;    // the smallest distance of copies with tokens between
constexpr int64_t kFarther = 4;     // from one distance to the next

// All kinds that fit, in an order that does not depend on the context.
std::vector<CopiedPiece> pieces_within(int64_t begin, int64_t context) {
  std::vector<CopiedPiece> pieces{{begin, kTwice, kTwice, 2}, {begin, kFourTimes, kFourTimes, 4}};
  for (int64_t apart = kNearest; begin + apart + kTwice <= context; apart *= kFarther) {
    pieces.push_back({begin, kTwice, apart, 2});
  }
  std::erase_if(pieces, [&](const CopiedPiece& piece) { return piece.tokens() > context; });
  return pieces;
}

Document make_document(const ProbeWords& words, const CopiedPiece& piece, int64_t sequence) {
  const auto kind =
      SplitMix::joined(static_cast<uint64_t>(piece.period), static_cast<uint64_t>(piece.copies));
  SplitMix random(SplitMix::joined(kind, static_cast<uint64_t>(sequence)));
  Document document;
  document.tokens = words.prefix;
  const auto count = static_cast<int64_t>(words.ids.size());
  while (static_cast<int64_t>(document.tokens.size()) < piece.tokens()) {
    document.tokens.push_back(words.ids[static_cast<size_t>(random.below(count))]);
  }
  const auto first = document.tokens.begin() + piece.begin;
  for (int64_t copy = 1; copy < piece.copies; ++copy) {
    std::copy_n(first, piece.length, first + copy * piece.period);
  }
  return document;
}

}  // namespace

ProbeWords find_probe_words(const std::optional<std::filesystem::path>& tokenizer,
                            int64_t vocabulary) {
  ProbeWords words;
  if (tokenizer) {
    Tokenizer::Words known = Tokenizer::from_file(*tokenizer).words();
    words = {std::move(known.ids), std::move(known.prefix)};
    for (std::vector<int32_t>* ids : {&words.ids, &words.prefix}) {
      std::erase_if(*ids, [&](int32_t id) { return id < 0 || id >= vocabulary; });
    }
  } else {
    words.ids.resize(static_cast<size_t>(vocabulary));
    std::iota(words.ids.begin(), words.ids.end(), 0);
  }
  if (words.ids.size() < 2) {
    throw InputError("probes: {} token ids are not special, expected at least 2 to draw from",
                     words.ids.size());
  }
  return words;
}

ProbeSet make_probes(const ProbeWords& words, int64_t context) {
  ProbeSet set;
  for (const CopiedPiece& piece :
       pieces_within(static_cast<int64_t>(words.prefix.size()), context)) {
    for (int64_t sequence = 0; sequence < kProbeSequences; ++sequence) {
      Document document = make_document(words, piece, sequence);
      document.index = document.example_id = static_cast<int64_t>(set.documents.documents.size());
      document.set_digests();
      set.pieces[document.index] = piece;
      set.documents.total_tokens += piece.tokens();
      set.documents.documents.push_back(std::move(document));
    }
  }
  set.documents.entries_read = static_cast<int64_t>(set.documents.documents.size());
  return set;
}

int64_t shortest_probe(const ProbeWords& words) {
  return CopiedPiece{static_cast<int64_t>(words.prefix.size()), kTwice, kTwice, 2}.tokens();
}

std::string probe_kind(const CopiedPiece& piece) {
  if (piece.copies > 2) return "prefix";
  return piece.period == piece.length ? "induction" : "induction_far";
}

std::string format_probes(const ProbeSet& probes, const std::vector<std::string>& models) {
  std::string lines;
  for (const Document& document : probes.documents.documents) {
    const CopiedPiece& piece = probes.pieces.at(document.index);
    Json line{{"id", document.index},     {"kind", probe_kind(piece)}, {"begin", piece.begin},
              {"length", piece.length},   {"period", piece.period},    {"copies", piece.copies},
              {"tokens", document.tokens}};
    if (!models.empty()) line["models"] = models;
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace ropewalk
