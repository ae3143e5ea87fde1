#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/text/corpus.h"

namespace ropewalk {

class Tokenizer;

// The number of a document's first tokens that identify it, unless it was cut to fewer.
inline constexpr int64_t kPrefixTokens = 256;

// A document that is ready for the model.
struct Document {
  int64_t index = 0;  // among the kept documents, from 0
  // The integer id, else the hash of the string id, else `index` in the order of the corpus.
  int64_t example_id = 0;
  std::vector<int32_t> tokens;  // at most `context`
  uint64_t digest = 0;          // of all tokens: tells whether two shards read the same document
  uint64_t prefix_digest =
      0;  // of the first kPrefixTokens tokens: independent of the context that it was cut to
  // Documents of one cluster are neighbours in one text, and not independent. Default: `index`.
  std::optional<int64_t> cluster;

  // Computes both digests: the first 8 bytes of the SHA-256 of the token ids (int32,
  // little-endian).
  void set_digests();
  // The block of this document. Standard errors assume independent blocks.
  int64_t block(int64_t blocks) const { return cluster.value_or(index) % blocks; }
};

struct DocumentOptions {
  int64_t context = 0;                // tokens per document; longer ones are cut
  std::optional<int64_t> min_tokens;  // shorter ones are skipped; default: context
  std::optional<int64_t> documents;   // number to keep; default: all
  int64_t after = 0;                  // how many that are long enough to leave out first
  int32_t vocabulary_size = 0;        // of the model; larger ids are refused
  bool chunk = false;                 // cut a text into documents instead of dropping its rest
  int64_t blocks = 16;                // with `chunk`: number of clusters made of a few long texts
};

// Documents are tokenised once, and every checkpoint with the same tokenizer reads this set.
struct DocumentSet {
  std::vector<Document> documents;
  int64_t total_tokens = 0;
  int64_t entries_read = 0;
  int64_t texts = 0;  // with `chunk`: number of texts that the documents were cut from; else 0
  std::string chunk_blocks_digest;  // with `chunk`: digest of the block of each piece; else empty
  int64_t texts_with_id = 0;        // documents whose text has an id; the others' ids are indexes
  int64_t skipped_empty = 0;        // entries
  int64_t skipped_short = 0;
  int64_t longest_skipped = 0;     // tokens
  std::string tokenizer_digest;    // empty when every entry came as tokens
  std::string tokenizer_path;      // where it was; empty: there was none
  double waited = 0;               // seconds that reading waited for token ids
  std::string full_corpus_digest;  // of a shard: digest of the documents of all shards

  // "2 shorter and 1 empty ones skipped"
  std::string describe_skipped() const;
};

// Keeps the first `documents` entries long enough, after the first `after` of them. `tokenizer` may
// be null when entries are tokens; a text entry is then an InputError. Empty entries are skipped.
// Throws InputError when no entry is long enough, saying how long the longest is. Warns where fewer
// than were asked for are there, where they are too few for standard errors, and of repeated ones.
DocumentSet select_documents(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& options);

// Selects documents of a file or folder. `tokenizer` is a tokenizer.json or its folder; without
// one, entries must be tokens.
DocumentSet read_documents(const std::filesystem::path& corpus, const CorpusOptions& fields,
                           const std::optional<std::filesystem::path>& tokenizer,
                           const DocumentOptions& options);

}  // namespace ropewalk
