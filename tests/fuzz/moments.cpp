#include "ropewalk/moments/files/merge.h"
#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const CaptureMoments moments = read_moments(input.path);
  require(moments.counts.total_documents() == static_cast<int64_t>(moments.documents.size()),
          "every document is recorded");
  require(moments.counts.total_tokens() >= 0, "tokens can be counted");
  for (const AccumulatedFields& kept : moments.accumulated) {
    total_of(*kept.accumulator, kept.blocks, moments.counts);
  }
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    require(
        moments.streams(kind).total.mean.size(0) == static_cast<int64_t>(moments.ids(kind).size()),
        "every stream has a place");
  }
  std::string missing;
  const CaptureMoments merged = merge_moments({{"input", input.path}}, missing);
  require(missing.size() < 1000, "what is missing is told in a few words");
  require(merged.documents == moments.documents, "one capture is its own sum");
}
