#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/corpus.h"
#include "tests/temporary_folder.h"

namespace ropewalk {

inline std::vector<CorpusEntry> read_corpus(const std::filesystem::path& path,
                                            const CorpusOptions& options = {}) {
  std::vector<CorpusEntry> entries;
  const auto corpus = open_corpus(path, options);
  while (auto entry = corpus->next()) entries.push_back(std::move(*entry));
  return entries;
}

// The InputError about a file, without its folder.
inline std::string corpus_message(const TemporaryFolder& folder, const std::string& name,
                                  const CorpusOptions& options = {}) {
  try {
    read_corpus(folder.path() / name, options);
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string prefix = folder.path().string() + "/";
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
  return "no error";
}

}  // namespace ropewalk
