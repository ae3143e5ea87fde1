#include "ropewalk/study/shared_documents.h"

#include <algorithm>

#include "ropewalk/base/processes.h"

namespace ropewalk {

void share_documents(DocumentSet& documents) {
  if (processes::count() == 1) return;
  std::vector<int64_t> numbers{documents.total_tokens, documents.entries_read,
                               documents.skipped_short, documents.longest_skipped, documents.texts};
  std::vector<int32_t> tokens;
  for (const Document& document : documents.documents) {
    const auto size = static_cast<int64_t>(document.tokens.size());
    numbers.insert(numbers.end(), {document.index, document.example_id,
                                   document.cluster.value_or(document.index), size});
    tokens.insert(tokens.end(), document.tokens.begin(), document.tokens.end());
  }
  const auto share_all = [](auto& values) {
    values.resize(static_cast<size_t>(processes::share(static_cast<int64_t>(values.size()))));
    processes::share(std::as_writable_bytes(std::span(values)));
  };
  share_all(numbers);
  share_all(tokens);
  documents.tokenizer_digest = processes::share(std::move(documents.tokenizer_digest));
  if (processes::first()) return;

  documents.total_tokens = numbers[0];
  documents.entries_read = numbers[1];
  documents.skipped_short = numbers[2];
  documents.longest_skipped = numbers[3];
  documents.texts = numbers[4];
  documents.documents.clear();
  auto next = tokens.begin();
  for (size_t i = 5; i < numbers.size(); i += 4) {
    const auto end = next + numbers[i + 3];
    documents.documents.push_back({numbers[i], numbers[i + 1], {next, end}, numbers[i + 2]});
    next = end;
  }
}

DocumentSet part_of_documents(const DocumentSet& documents, int64_t part, int64_t parts) {
  DocumentSet taken = documents;
  std::erase_if(taken.documents,
                [&](const Document& document) { return document.index % parts != part; });
  taken.total_tokens = 0;
  for (const Document& document : taken.documents) {
    taken.total_tokens += static_cast<int64_t>(document.tokens.size());
  }
  return taken;
}

}  // namespace ropewalk
