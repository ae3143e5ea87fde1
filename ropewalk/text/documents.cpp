#include "ropewalk/text/documents.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/hash.h"
#include "ropewalk/base/interrupt.h"
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
  if (options.vocabulary_size < 1) {
    throw UsageError("the vocabulary has {} entries; expected at least 1", options.vocabulary_size);
  }
  return options;
}

void require_known_ids(const std::vector<int32_t>& ids, int32_t vocabulary_size,
                       const std::string& where, const char* hint) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocabulary_size) {
      throw InputError("{}: token {} is {}; expected an id from 0 to {}, the model's vocabulary{}",
                       where, i, ids[i], vocabulary_size - 1, hint);
    }
  }
}

void cut(std::vector<int32_t>& tokens, int64_t context) {
  if (static_cast<int64_t>(tokens.size()) > context) tokens.resize(static_cast<size_t>(context));
}

// A text's ids: all of them where they fit, else what fits of prefix and body.
std::vector<int32_t> encode_within(const Tokenizer& tokenizer, const std::string& text,
                                   const std::string& where, const DocumentOptions& options) {
  Tokenizer::Encoding encoding = tokenizer.encode(text);
  std::vector<int32_t> tokens = std::move(encoding.prefix);
  tokens.insert(tokens.end(), encoding.body.begin(), encoding.body.end());
  if (static_cast<int64_t>(tokens.size() + encoding.suffix.size()) <= options.context) {
    tokens.insert(tokens.end(), encoding.suffix.begin(), encoding.suffix.end());
  }
  cut(tokens, options.context);
  require_known_ids(tokens, options.vocabulary_size, where, "; is this the model's tokenizer?");
  return tokens;
}

std::vector<int32_t> tokens_within(CorpusEntry& entry, const Tokenizer* tokenizer,
                                   const DocumentOptions& options) {
  if (auto* tokens = std::get_if<std::vector<int32_t>>(&entry.content)) {
    require_known_ids(*tokens, options.vocabulary_size, entry.where, "");
    cut(*tokens, options.context);
    return std::move(*tokens);
  }
  if (tokenizer == nullptr) {
    throw InputError(
        "{}: is text, and no tokenizer.json was found; name a tokenizer, or give token ids",
        entry.where);
  }
  return encode_within(*tokenizer, std::get<std::string>(entry.content), entry.where, options);
}

int64_t example_id_of(const CorpusEntry& entry, int64_t index) {
  if (const auto* number = std::get_if<int64_t>(&entry.id)) return *number;
  if (const auto* text = std::get_if<std::string>(&entry.id)) return blake2b_int64(*text);
  return index;
}

}  // namespace

DocumentSet select_documents(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& given) {
  const DocumentOptions options = checked(given);
  DocumentSet set;
  std::string longest_where;
  while (!options.documents || static_cast<int64_t>(set.documents.size()) < *options.documents) {
    throw_if_interrupted();
    std::optional<CorpusEntry> entry = corpus.next();
    if (!entry) break;
    ++set.entries_read;
    if (std::holds_alternative<std::string>(entry->content) && tokenizer != nullptr) {
      set.tokenizer_digest = tokenizer->digest();
    }
    std::vector<int32_t> tokens = tokens_within(*entry, tokenizer, options);
    const int64_t n_tokens = static_cast<int64_t>(tokens.size());
    if (n_tokens < *options.min_tokens) {
      ++set.skipped_short;
      if (longest_where.empty() || n_tokens > set.longest_skipped) {
        set.longest_skipped = n_tokens;
        longest_where = entry->where;
      }
      continue;
    }
    const int64_t index = static_cast<int64_t>(set.documents.size());
    set.documents.push_back({index, example_id_of(*entry, index), std::move(tokens)});
    set.total_tokens += n_tokens;
  }
  if (set.entries_read == 0) throw InputError("{}: holds no documents", corpus.name());
  if (set.documents.empty()) {
    throw InputError(
        "{}: no document has {} tokens: the longest of {}, {}, has {}; lower the context or "
        "min_tokens",
        corpus.name(), *options.min_tokens, set.entries_read, longest_where, set.longest_skipped);
  }
  return set;
}

std::string document_digest(const Document& document) {
  static_assert(std::endian::native == std::endian::little, "digests are of little-endian ids");
  constexpr size_t kDigits = 16;
  return sha256_hex({reinterpret_cast<const char*>(document.tokens.data()),
                     document.tokens.size() * sizeof(int32_t)})
      .substr(0, kDigits);
}

}  // namespace ropewalk
