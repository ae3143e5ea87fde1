#include "ropewalk/text/documents.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/text/encoded_corpus.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

DocumentOptions checked(DocumentOptions options) {
  if (options.context < 1)
    throw UsageError("context is {}; expected at least 1 token", options.context);
  if (!options.min_tokens) options.min_tokens = options.context;
  if (*options.min_tokens < 1 || *options.min_tokens > options.context) {
    throw UsageError("min_tokens is {}; expected 1 to the context of {}", *options.min_tokens,
                     options.context);
  }
  if (options.documents && *options.documents < 1) {
    throw UsageError("documents is {}; expected at least 1", *options.documents);
  }
  if (options.blocks < 1) throw UsageError("blocks is {}; expected at least 1", options.blocks);
  if (options.vocabulary_size < 1) {
    throw UsageError("the vocabulary has {} entries; expected at least 1", options.vocabulary_size);
  }
  return options;
}

int64_t example_id_of(const CorpusEntry& entry, int64_t index) {
  if (const auto* number = std::get_if<int64_t>(&entry.id)) return *number;
  if (const auto* text = std::get_if<std::string>(&entry.id)) return blake2b_int64(*text);
  return index;
}

// The id of a piece, where its text has an id: the pieces' ids are as if their texts' were "ID#0",
// "ID#1", ….
int64_t piece_id_of(const CorpusEntry& entry, size_t piece, int64_t index) {
  if (const auto* number = std::get_if<int64_t>(&entry.id))
    return blake2b_int64(fmt::format("{}#{}", *number, piece));
  if (const auto* text = std::get_if<std::string>(&entry.id))
    return blake2b_int64(fmt::format("{}#{}", *text, piece));
  return index;
}

// Deals pieces to blocks. With at least one text per block, all pieces of a text go to one block.
// Fewer texts are cut into as many runs of neighbouring pieces as there are blocks. Pieces are then
// ordered: the first piece of every block, the second of every block and so on, so that any first
// part of the documents contains pieces of all blocks.
void deal_pieces(DocumentSet& set, int64_t blocks) {
  const auto count = static_cast<int64_t>(set.documents.size());
  std::vector<int64_t> dealt(static_cast<size_t>(blocks));   // number of pieces dealt to each block
  std::vector<std::tuple<int64_t, int64_t, int64_t>> order;  // index within the block, block, piece
  for (Document& document : set.documents) {
    if (set.texts < blocks) document.cluster = document.index * blocks / count;
    const int64_t block = document.block(blocks);
    order.emplace_back(dealt[static_cast<size_t>(block)]++, block, document.index);
  }
  std::ranges::sort(order);
  std::vector<Document> documents;
  Sha256 dealing;
  for (const auto& [index, block, piece] : order) {
    dealing.update(fmt::format("{}\n", block));
    documents.push_back(std::move(set.documents[static_cast<size_t>(piece)]));
    documents.back().index = static_cast<int64_t>(documents.size()) - 1;
  }
  set.documents = std::move(documents);
  set.chunk_blocks_digest = dealing.hex().substr(0, 16);
}

// a + b, or the largest number where that is larger.
int64_t sum_at_most(int64_t a, int64_t b) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  return a > most - b ? most : a + b;
}

void require_any(const DocumentSet& set, const DocumentOptions& options, int64_t left_out,
                 const std::string& longest_where, const std::string& corpus) {
  if (set.entries_read == 0) throw InputError("{}: holds no documents", corpus);
  if (set.skipped_empty == set.entries_read) {
    throw InputError("{}: all {} documents are empty", corpus, set.entries_read);
  }
  if (!set.documents.empty()) return;
  if (left_out > 0) {
    throw InputError("{}: has {} documents that are long enough, expected more than {}", corpus,
                     left_out, options.after);
  }
  throw InputError(
      "{}: no document has {} tokens: the longest of {}, {}, has {}; lower the context or "
      "min_tokens",
      corpus, *options.min_tokens, set.entries_read, longest_where, set.longest_skipped);
}

// Standard errors assume independent documents, and copies of one another are not independent.
void warn_of_repeats(const DocumentSet& set, const std::string& corpus) {
  std::unordered_set<uint64_t> seen;
  for (const Document& document : set.documents) seen.insert(document.digest);
  const size_t repeats = set.documents.size() - seen.size();
  if (repeats == 0) return;
  log::warning(
      "{}: {} of {} documents repeat another one, token by token; standard errors assume "
      "independent documents and come out too small",
      corpus, repeats, set.documents.size());
}

void warn_of_few(const DocumentSet& set, const DocumentOptions& options,
                 const std::string& corpus) {
  constexpr size_t kFew = 8;  // fewer blocks are flagged few_blocks
  const size_t count = set.documents.size();
  if (options.documents && static_cast<int64_t>(count) < *options.documents) {
    log::warning("{}: expected {} documents, found {}; {}", corpus, *options.documents, count,
                 set.describe_skipped());
  }
  if (count < kFew) {
    log::warning("{}: {} too few for reliable standard errors; give at least {}{}", corpus,
                 count == 1 ? "1 document is" : fmt::format("{} documents are", count), kFew,
                 options.chunk ? "" : ", or cut long texts into several documents (chunk)");
  }
}

}  // namespace

DocumentSet select_documents(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& given) {
  const DocumentOptions options = checked(given);
  DocumentSet set;
  EncodedCorpus entries(corpus, tokenizer, options);
  std::string longest_where;
  int64_t left_out = 0;  // of options.after
  const auto full = [&] {
    return options.documents && static_cast<int64_t>(set.documents.size()) >= *options.documents;
  };
  while (!full()) {
    throw_if_interrupted();
    // Each entry gives at least one document or none, so this many entries may be needed.
    std::optional<EncodedEntry> encoded = entries.next(
        options.documents
            ? sum_at_most(*options.documents - static_cast<int64_t>(set.documents.size()),
                          options.after - left_out)
            : std::numeric_limits<int64_t>::max());
    if (!encoded) break;
    auto& [entry, pieces, from_text] = *encoded;
    ++set.entries_read;
    if (pieces.empty()) {
      ++set.skipped_empty;
      continue;
    }
    if (from_text) set.tokenizer_digest = tokenizer->digest();
    const size_t before = set.documents.size();
    for (size_t i = 0; i < pieces.size() && !full(); ++i) {
      const auto n_tokens = static_cast<int64_t>(pieces[i].size());
      if (n_tokens < *options.min_tokens) {
        ++set.skipped_short;
        if (longest_where.empty() || n_tokens > set.longest_skipped) {
          set.longest_skipped = n_tokens;
          longest_where = entry.where;
        }
        continue;
      }
      if (left_out < options.after) {
        ++left_out;
        continue;
      }
      Document& document = set.documents.emplace_back();
      document.index = static_cast<int64_t>(set.documents.size()) - 1;
      document.example_id = options.chunk ? piece_id_of(entry, i, document.index)
                                          : example_id_of(entry, document.index);
      if (!std::holds_alternative<std::monostate>(entry.id)) ++set.texts_with_id;
      document.tokens = std::move(pieces[i]);
      document.set_digests();
      document.cluster = options.chunk ? set.texts : document.index;
      set.total_tokens += n_tokens;
    }
    if (options.chunk && set.documents.size() > before) ++set.texts;
  }
  set.waited = entries.waited();
  require_any(set, options, left_out, longest_where, corpus.name());
  if (options.chunk) deal_pieces(set, options.blocks);
  warn_of_few(set, options, corpus.name());
  warn_of_repeats(set, corpus.name());
  return set;
}

DocumentSet read_documents(const std::filesystem::path& corpus, const CorpusOptions& fields,
                           const std::optional<std::filesystem::path>& tokenizer,
                           const DocumentOptions& options) {
  const auto reader = open_corpus(corpus, fields);
  std::optional<Tokenizer> known;
  if (tokenizer) known = Tokenizer::from_file(*tokenizer);
  return select_documents(*reader, known ? &*known : nullptr, options);
}

std::string DocumentSet::describe_skipped() const {
  return skipped_empty == 0
             ? fmt::format("{} shorter ones skipped", skipped_short)
             : fmt::format("{} shorter and {} empty ones skipped", skipped_short, skipped_empty);
}

void Document::set_digests() {
  static_assert(std::endian::native == std::endian::little, "digests are of little-endian ids");
  const auto digest_of = [&](size_t count) {
    constexpr size_t kDigits = 16;
    const auto* bytes = reinterpret_cast<const char*>(tokens.data());
    return std::stoull(sha256_hex({bytes, count * sizeof(int32_t)}).substr(0, kDigits), nullptr,
                       kDigits);
  };
  digest = digest_of(tokens.size());
  constexpr auto kPrefix = static_cast<size_t>(kPrefixTokens);
  prefix_digest = tokens.size() > kPrefix ? digest_of(kPrefix) : digest;
}

}  // namespace ropewalk
