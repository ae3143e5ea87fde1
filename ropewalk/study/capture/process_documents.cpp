#include "ropewalk/study/capture/process_documents.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {

namespace {

constexpr std::array kCounts{&DocumentSet::total_tokens,   &DocumentSet::entries_read,
                             &DocumentSet::texts,          &DocumentSet::texts_with_id,
                             &DocumentSet::skipped_empty,  &DocumentSet::skipped_short,
                             &DocumentSet::longest_skipped};

// A document without its tokens.
struct Header {
  int64_t index;
  int64_t example_id;
  int64_t cluster;
  uint64_t digest;
  uint64_t prefix_digest;
  size_t tokens;
};

template <typename Value>
void broadcast(std::vector<Value>& values, const Communicator& processes) {
  values.resize(static_cast<size_t>(processes.from_first(static_cast<int64_t>(values.size()))));
  processes.copy_from_first(std::as_writable_bytes(std::span(values)));
}

}  // namespace

void broadcast_numbers(std::vector<int32_t>& numbers, const Communicator& processes) {
  if (!processes.alone()) broadcast(numbers, processes);
}

void broadcast_documents(DocumentSet& documents, const Communicator& processes) {
  if (processes.alone()) return;
  for (const auto count : kCounts) documents.*count = processes.from_first(documents.*count);
  documents.tokenizer_digest = processes.from_first(std::move(documents.tokenizer_digest));
  documents.chunk_blocks_digest = processes.from_first(std::move(documents.chunk_blocks_digest));
  documents.full_corpus_digest = processes.from_first(std::move(documents.full_corpus_digest));
  std::vector<Header> headers;
  std::vector<int32_t> tokens;
  for (const Document& document : documents.documents) {
    headers.push_back({document.index, document.example_id,
                       document.cluster.value_or(document.index), document.digest,
                       document.prefix_digest, document.tokens.size()});
    tokens.insert(tokens.end(), document.tokens.begin(), document.tokens.end());
  }
  broadcast(headers, processes);
  broadcast(tokens, processes);
  if (processes.first()) return;

  documents.documents.clear();
  std::span<const int32_t> rest(tokens);
  for (const Header& header : headers) {
    const auto mine = rest.first(header.tokens);
    rest = rest.subspan(header.tokens);
    documents.documents.push_back({.index = header.index,
                                   .example_id = header.example_id,
                                   .tokens = {mine.begin(), mine.end()},
                                   .digest = header.digest,
                                   .prefix_digest = header.prefix_digest,
                                   .cluster = header.cluster});
  }
}

std::vector<Document> part_of_documents(std::span<const Document> documents, int64_t part,
                                        int64_t parts) {
  std::vector<Document> taken;
  std::copy_if(documents.begin(), documents.end(), std::back_inserter(taken),
               [&](const Document& document) { return document.index % parts == part; });
  return taken;
}

DocumentSet part_of_documents(const DocumentSet& documents, int64_t part, int64_t parts) {
  DocumentSet taken = documents;
  taken.documents = part_of_documents(std::span<const Document>(documents.documents), part, parts);
  taken.total_tokens = 0;
  for (const Document& document : taken.documents) {
    taken.total_tokens += static_cast<int64_t>(document.tokens.size());
  }
  return taken;
}

std::vector<int64_t> indexes_of(std::span<const Document> documents) {
  std::vector<int64_t> indexes;
  for (const Document& document : documents) indexes.push_back(document.index);
  return indexes;
}

}  // namespace ropewalk
