#include "ropewalk/text/encoded_corpus.h"

#include <algorithm>
#include <atomic>
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

}  // namespace

EncodedCorpus::EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& options)
    : corpus_(corpus), tokenizer_(tokenizer), options_(options) {}

std::optional<EncodedEntry> EncodedCorpus::next() {
  if (next_ == slots_.size()) read_ahead();
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
    encoded.from_text = std::holds_alternative<std::string>(encoded.entry.content);
    encoded.tokens = tokens_within(encoded.entry, tokenizer_, options_);
    encoded.entry.content = {};
  } catch (...) {
    slot.error = std::current_exception();
  }
}

void EncodedCorpus::read_ahead() {
  slots_.clear();
  next_ = 0;
  size_t bytes = 0;
  while (slots_.size() < worker_count() * kAheadEntries && bytes < kAheadBytes) {
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
