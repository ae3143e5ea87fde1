#include "ropewalk/text/encoded_corpus.h"

#include <algorithm>
#include <atomic>
#include <span>
#include <thread>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace {

// Read ahead at most this much text, and this many entries a core.
constexpr size_t kAheadBytes = size_t{32} << 20;
constexpr size_t kAheadEntries = 4;

size_t worker_count() {
  constexpr size_t kMost = 32;
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMost);
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

using Pieces = std::vector<std::vector<int32_t>>;

// The first piece, or with `chunk` all of them. Every piece begins as a text does, with the prefix;
// the suffix is there where the text ends and it fits.
Pieces cut(const Tokenizer::Encoding& text, const DocumentOptions& options) {
  const auto context = static_cast<size_t>(options.context);
  const auto prefix = std::span(text.prefix).first(std::min(text.prefix.size(), context));
  if (options.chunk && prefix.size() == context) {
    throw UsageError(
        "a context of {} tokens has no room for text after the {} that the tokenizer puts in "
        "front; take a longer one",
        context, text.prefix.size());
  }
  auto rest = std::span(text.body);
  Pieces pieces;
  do {
    std::vector<int32_t>& piece = pieces.emplace_back(prefix.begin(), prefix.end());
    const auto part = rest.first(std::min(rest.size(), context - prefix.size()));
    piece.insert(piece.end(), part.begin(), part.end());
    rest = rest.subspan(part.size());
  } while (options.chunk && !rest.empty());
  if (rest.empty() && pieces.back().size() + text.suffix.size() <= context) {
    pieces.back().insert(pieces.back().end(), text.suffix.begin(), text.suffix.end());
  }
  return pieces;
}

Pieces pieces_of(CorpusEntry& entry, const Tokenizer* tokenizer, const DocumentOptions& options) {
  if (auto* tokens = std::get_if<std::vector<int32_t>>(&entry.content)) {
    require_known_ids(*tokens, options.vocabulary_size, entry.where, "");
    return cut({{}, std::move(*tokens), {}}, options);
  }
  if (tokenizer == nullptr) {
    throw InputError(
        "{}: is text, and no tokenizer.json was found; name one, or give token ids; {}",
        entry.where, kMakeTokenizerJson);
  }
  Pieces pieces = cut(tokenizer->encode(std::get<std::string>(entry.content)), options);
  for (const auto& piece : pieces) {
    require_known_ids(piece, options.vocabulary_size, entry.where,
                      "; is this the model's tokenizer?");
  }
  return pieces;
}

}  // namespace

EncodedCorpus::EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& options)
    : corpus_(corpus), tokenizer_(tokenizer), options_(options) {}

std::optional<EncodedEntry> EncodedCorpus::next(int64_t wanted) {
  if (next_ == slots_.size()) {
    read_ahead(std::min(worker_count() * kAheadEntries, static_cast<size_t>(wanted)));
  }
  if (slots_.empty()) return std::nullopt;
  Slot& slot = slots_[next_++];
  if (slot.error) std::rethrow_exception(slot.error);
  return std::move(slot.encoded);
}

void EncodedCorpus::encode(Slot& slot) const {
  if (slot.error) return;
  try {
    throw_if_interrupted();
    EncodedEntry& encoded = slot.encoded;
    if (std::visit([](const auto& content) { return content.empty(); }, encoded.entry.content)) {
      return;
    }
    encoded.from_text = std::holds_alternative<std::string>(encoded.entry.content);
    encoded.pieces = pieces_of(encoded.entry, tokenizer_, options_);
    if (encoded.pieces.front().empty()) encoded.pieces.clear();
    encoded.entry.content = {};
  } catch (...) {
    slot.error = std::current_exception();
  }
}

void EncodedCorpus::read_ahead(size_t most) {
  slots_.clear();
  next_ = 0;
  size_t bytes = 0;
  while (slots_.size() < most && bytes < kAheadBytes) {
    Slot slot;
    try {
      throw_if_interrupted();
      std::optional<CorpusEntry> entry = corpus_.next();
      if (!entry) break;
      slot.encoded.entry = std::move(*entry);
    } catch (...) {
      slot.error = std::current_exception();
    }
    if (const auto* text = std::get_if<std::string>(&slot.encoded.entry.content))
      bytes += text->size();
    slots_.push_back(std::move(slot));
    if (slots_.back().error) break;
  }
  std::atomic<size_t> taken = 0;
  const auto work = [&] {
    for (size_t i = taken++; i < slots_.size(); i = taken++) encode(slots_[i]);
  };
  // Token ids need no work worth a thread.
  std::vector<std::jthread> helpers;
  if (bytes > 0) {
    for (size_t i = 1; i < std::min(worker_count(), slots_.size()); ++i) helpers.emplace_back(work);
  }
  work();
}

}  // namespace ropewalk
