#include "ropewalk/text/corpus_formats.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const bool gzip = input.bytes.starts_with('\x1f');
  const auto corpus = open_jsonl_corpus(input.path, gzip, {});
  while (corpus->next()) {
  }
}
