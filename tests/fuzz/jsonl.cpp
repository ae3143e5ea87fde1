#include "ropewalk/text/corpus_formats.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const auto compression = input.bytes.starts_with('\x1f')       ? Compression::gzip
                           : input.bytes.starts_with("\x28\xb5") ? Compression::zstd
                                                                 : Compression::none;
  const auto corpus = open_jsonl_corpus(input.path, compression, {});
  while (corpus->next()) {
  }
}
