#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <vector>

#include "ropewalk/text/documents.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// An entry as token ids: one piece cut to the context, or with `chunk` all its pieces; none
// where it is empty. The entry's content is gone.
struct EncodedEntry {
  CorpusEntry entry;
  std::vector<std::vector<int32_t>> pieces;
  bool from_text = false;
};

// Reads a corpus a little ahead, while the companion tokenises what was read. Order and errors are
// those of reading one entry after another: an error is thrown when its entry's turn comes.
class EncodedCorpus {
 public:
  // What is passed by reference must live as long.
  EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer, const DocumentOptions& options);

  // The next entry, or nothing at the end. Throws InputError on a malformed one. No more than
  // `wanted` entries are read ahead.
  std::optional<EncodedEntry> next(int64_t wanted);
  // Seconds in which nothing was read because ids had not come yet, the start of the companion
  // included.
  double waited() const { return waited_; }

 private:
  struct Slot {
    CorpusEntry entry;
    std::optional<Tokenizer::Outcome> outcome;  // of a text that is not empty
    std::exception_ptr error;
  };
  // Entries whose texts are one batch.
  struct EntryBatch {
    std::deque<Slot> slots;
    std::optional<Tokenizer::Batch> batch;
    size_t bytes = 0;  // of text
  };
  void read_ahead(int64_t wanted);
  EntryBatch read_round(size_t most);
  void take_round();

  CorpusReader& corpus_;
  const Tokenizer* tokenizer_;
  const DocumentOptions& options_;
  std::deque<EntryBatch> ahead_;
  std::deque<Slot> slots_;  // of the round at hand
  bool at_end_ = false;
  double waited_ = 0;
};

}  // namespace ropewalk
