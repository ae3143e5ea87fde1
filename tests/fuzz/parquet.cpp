#include "ropewalk/text/corpus_formats.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const auto corpus = open_parquet_corpus(input.path, {});
  // A few bytes may expand to billions of equal rows, which cost time but no memory.
  for (int row = 0; row < 1000 && corpus->next(); ++row) {
  }
}
