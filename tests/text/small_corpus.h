#pragma once

#include <numeric>
#include <string>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/documents.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

inline constexpr int32_t kSmallVocabulary = 100;

// An entry of n tokens counting from `first`.
inline CorpusEntry entry_of(int32_t first, size_t n, decltype(CorpusEntry::id) id = {}) {
  std::vector<int32_t> tokens(n);
  std::iota(tokens.begin(), tokens.end(), first);
  return {std::move(tokens), std::move(id), "a.jsonl:" + std::to_string(first + 1)};
}

// A corpus in memory.
class EntriesInMemory : public CorpusReader {
 public:
  explicit EntriesInMemory(std::vector<CorpusEntry> entries) : entries_(std::move(entries)) {}
  std::optional<CorpusEntry> next() override {
    if (next_ == entries_.size()) return std::nullopt;
    return std::move(entries_[next_++]);
  }
  std::string name() const override { return "corpus"; }

 private:
  std::vector<CorpusEntry> entries_;
  size_t next_ = 0;
};

inline CorpusEntry text_of(std::string text) { return {std::move(text), {}, "a.txt"}; }

inline DocumentOptions document_options(int64_t context) {
  DocumentOptions options;
  options.context = context;
  options.vocabulary_size = kSmallVocabulary;
  return options;
}

inline DocumentSet select_from(std::vector<CorpusEntry> entries, const DocumentOptions& options,
                               const Tokenizer* tokenizer = nullptr) {
  EntriesInMemory corpus(std::move(entries));
  return select_documents(corpus, tokenizer, options);
}

inline std::string selection_error(std::vector<CorpusEntry> entries,
                                   const DocumentOptions& options) {
  try {
    select_from(std::move(entries), options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

inline std::vector<CorpusEntry> entries_of(int32_t count, size_t tokens) {
  std::vector<CorpusEntry> entries;
  for (int32_t i = 0; i < count; ++i) entries.push_back(entry_of(i, tokens));
  return entries;
}

// Letters a to f are 0 to 5; the post-processor puts 6 in front and 7 behind.
inline Tokenizer letter_tokenizer() {
  return Tokenizer::from_json(
      R"({"version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "added_tokens": [{"id": 6, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true},
                     {"id": 7, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
                      "normalized": false, "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "</s>", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [6], "tokens": ["<s>"]},
                         "</s>": {"id": "</s>", "ids": [7], "tokens": ["</s>"]}}},
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
      "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "merges": [],
      "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "f": 5, "<s>": 6, "</s>": 7}}})",
      "letters");
}

}  // namespace ropewalk
