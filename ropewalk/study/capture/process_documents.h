#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/text/documents.h"

namespace ropewalk {

class Communicator;

// Sends the first process's documents to all `processes`, so that the corpus is read once and all
// have the same documents. Collective.
void broadcast_documents(DocumentSet& documents, const Communicator& processes);

// Sends the first process's numbers to all. Collective.
void broadcast_numbers(std::vector<int32_t>& numbers, const Communicator& processes);

// Every n-th document, starting with the i-th: the part that process i of n reads.
std::vector<Document> part_of_documents(std::span<const Document> documents, int64_t part,
                                        int64_t parts);
DocumentSet part_of_documents(const DocumentSet& documents, int64_t part, int64_t parts);

// The documents' indexes among the kept documents.
std::vector<int64_t> indexes_of(std::span<const Document> documents);

}  // namespace ropewalk
