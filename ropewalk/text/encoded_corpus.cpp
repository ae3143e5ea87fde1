#include "ropewalk/text/encoded_corpus.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

// The most text that is read ahead, in two batches: one that is tokenised and one that waits.
constexpr size_t kAheadBytes = size_t{32} << 20;
constexpr size_t kRounds = 3;
// A batch ends where it has enough texts for every core, or enough bytes.
constexpr size_t kRoundEntries = 512;
constexpr size_t kRoundBytes = size_t{1} << 20;
constexpr size_t kLargeRound = kAheadBytes / (2 * kRounds);

size_t core_count() {
  const size_t limit = core_limit();
  return limit > 0 ? limit : std::max<size_t>(std::thread::hardware_concurrency(), 1);
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

// Cuts the first piece of a text, or with `chunk` all of them. Every piece begins with the prefix,
// as a text does; the suffix follows the end of the text where it fits.
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

Pieces cut_entry(CorpusEntry& entry, std::optional<Tokenizer::Outcome>& outcome,
                 const DocumentOptions& options) {
  if (auto* tokens = std::get_if<std::vector<int32_t>>(&entry.content)) {
    require_known_ids(*tokens, options.vocabulary_size, entry.where, "");
    return cut({{}, std::move(*tokens), {}}, options);
  }
  if (!outcome->problem.empty()) throw InputError("{}: {}", entry.where, outcome->problem);
  Pieces pieces = cut(outcome->encoding, options);
  for (const auto& piece : pieces) {
    require_known_ids(piece, options.vocabulary_size, entry.where,
                      "; is this the model's tokenizer?");
  }
  return pieces;
}

bool is_empty(const CorpusEntry& entry) {
  return std::visit([](const auto& content) { return content.empty(); }, entry.content);
}

// Adds the seconds of a call to `sum`.
template <typename Work>
auto timed(double& sum, const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = work();
  sum += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

}  // namespace

EncodedCorpus::EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer,
                             const DocumentOptions& options)
    : corpus_(corpus), tokenizer_(tokenizer), options_(options) {}

std::optional<EncodedEntry> EncodedCorpus::next(int64_t wanted) {
  if (slots_.empty()) {
    read_ahead(wanted);
    take_round();
  }
  if (slots_.empty()) return std::nullopt;
  throw_if_interrupted();
  Slot slot = std::move(slots_.front());
  slots_.pop_front();
  if (slot.error) std::rethrow_exception(slot.error);
  EncodedEntry encoded{std::move(slot.entry), {}, slot.outcome.has_value()};
  if (is_empty(encoded.entry) && !slot.outcome) return encoded;
  encoded.pieces = cut_entry(encoded.entry, slot.outcome, options_);
  if (encoded.pieces.front().empty()) encoded.pieces.clear();
  encoded.entry.content = {};
  return encoded;
}

// All entries that are being tokenised may turn out long enough, and then no more are needed. Where
// each text gives several documents, only a few texts are read ahead.
void EncodedCorpus::read_ahead(int64_t wanted) {
  if (options_.chunk && options_.documents) {
    wanted = std::min(wanted, static_cast<int64_t>(4 * core_count()));
  }
  size_t entries = 0;
  size_t bytes = 0;
  for (const EntryBatch& round : ahead_) {
    entries += round.slots.size();
    bytes += round.bytes;
  }
  while (!at_end_ && ahead_.size() < kRounds && bytes < kAheadBytes &&
         entries < static_cast<size_t>(wanted)) {
    EntryBatch& round = ahead_.emplace_back(read_round(static_cast<size_t>(wanted) - entries));
    entries += round.slots.size();
    bytes += round.bytes;
  }
}

EncodedCorpus::EntryBatch EncodedCorpus::read_round(size_t most) {
  EntryBatch round;
  std::vector<std::string> texts;
  const size_t enough = 4 * core_count();
  const auto full = [&] {
    return round.slots.size() >= std::min(most, kRoundEntries) || round.bytes >= kLargeRound ||
           (round.bytes >= kRoundBytes && texts.size() >= enough);
  };
  while (!at_end_ && !full()) {
    Slot slot;
    try {
      throw_if_interrupted();
      std::optional<CorpusEntry> entry = corpus_.next();
      at_end_ = !entry;
      if (at_end_) break;
      slot.entry = std::move(*entry);
      auto* text = std::get_if<std::string>(&slot.entry.content);
      if (text != nullptr && !text->empty()) {
        if (tokenizer_ == nullptr) {
          throw InputError(
              "{}: is text, and no tokenizer.json was found; name one, or give token ids; {}",
              slot.entry.where, kMakeTokenizerJson);
        }
        round.bytes += text->size();
        texts.push_back(std::move(*text));
        slot.outcome.emplace();
      }
    } catch (...) {
      slot.error = std::current_exception();
      at_end_ = true;
    }
    round.slots.push_back(std::move(slot));
  }
  if (!texts.empty()) {
    round.batch = timed(waited_, [&] { return tokenizer_->send(std::move(texts)); });
  }
  return round;
}

// Puts the ids of the oldest batch's texts into their slots.
void EncodedCorpus::take_round() {
  if (ahead_.empty()) return;
  EntryBatch round = std::move(ahead_.front());
  ahead_.pop_front();
  slots_ = std::move(round.slots);
  if (!round.batch) return;
  auto outcomes = timed(waited_, [&] { return tokenizer_->receive(std::move(*round.batch)); });
  size_t next = 0;
  for (Slot& slot : slots_) {
    if (slot.outcome && next < outcomes.size()) slot.outcome = std::move(outcomes[next++]);
  }
}

}  // namespace ropewalk
