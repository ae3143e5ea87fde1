#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "ropewalk/text/documents.h"

namespace ropewalk {

// An entry as token ids: one piece cut to the context, or with `chunk` all its pieces; none
// where it is empty. The entry's content is gone.
struct EncodedEntry {
  CorpusEntry entry;
  std::vector<std::vector<int32_t>> pieces;
  bool from_text = false;
};

// Reads a corpus a little ahead and tokenises what was read on all cores. Order and errors are
// those of reading one entry after another: an error is thrown when its entry's turn comes.
class EncodedCorpus {
 public:
  // What is passed by reference must live as long.
  EncodedCorpus(CorpusReader& corpus, const Tokenizer* tokenizer, const DocumentOptions& options);

  // The next entry, or nothing at the end. Throws InputError on a malformed one. No more than
  // `wanted` entries are read ahead.
  std::optional<EncodedEntry> next(int64_t wanted);

 private:
  struct Slot {
    EncodedEntry encoded;
    std::exception_ptr error;
  };
  void read_ahead(size_t most);
  void encode(Slot& slot) const;

  CorpusReader& corpus_;
  const Tokenizer* tokenizer_;
  const DocumentOptions& options_;
  std::vector<Slot> slots_;
  size_t next_ = 0;
};

}  // namespace ropewalk
