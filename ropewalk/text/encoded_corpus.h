#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <vector>

#include "ropewalk/text/documents.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// An entry as token ids: one piece cut to the context, or with `chunk` all its pieces; none where
// it is empty. The entry's content has been moved out.
struct EncodedEntry {
  CorpusEntry entry;
  std::vector<std::vector<int32_t>> pieces;
  bool from_text = false;
};

// Reads a corpus a little ahead while the companion tokenises earlier entries. Order and errors are
// the same as for reading one entry after another: an error is thrown when its entry's turn comes.
class EncodedCorpus {
 public:
  // Objects passed by reference must outlive this one.
  EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer, const DocumentOptions& options);

  // The next entry, or nothing at the end. Throws InputError on a malformed entry. Reads at most
  // `wanted` entries ahead.
  std::optional<EncodedEntry> next(int64_t wanted);
  // Seconds in which nothing was read because ids had not come yet, the start of the companion
  // included.
  double waited() const { return waited_; }

 private:
  struct Slot {
    CorpusEntry entry;
    std::optional<Tokenizer::Outcome> outcome;  // empty for an empty text
    std::exception_ptr error;
  };
  // Entries whose texts are tokenised in one batch.
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
  std::deque<Slot> slots_;  // of the current batch
  bool at_end_ = false;
  double waited_ = 0;
};

}  // namespace ropewalk
