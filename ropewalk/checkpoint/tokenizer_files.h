#pragma once

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace ropewalk {

// The file that holds a complete tokenizer.
inline constexpr std::string_view kTokenizerFile = "tokenizer.json";

// Other files from which transformers builds a tokenizer, and files that accompany them.
inline constexpr std::string_view kOtherTokenizerFiles[] = {
    "tokenizer.model", "spiece.model", "sentencepiece.bpe.model",
    "tekken.json",     "vocab.json",   "vocab.txt"};
inline constexpr std::string_view kTokenizerSettings[] = {"merges.txt", "added_tokens.json",
                                                          "special_tokens_map.json",
                                                          "tokenizer_config.json", "config.json"};

// Whether a folder holds a tokenizer of any kind.
inline bool holds_tokenizer(const std::filesystem::path& folder) {
  std::error_code ignored;
  const auto there = [&](std::string_view name) {
    return std::filesystem::exists(folder / name, ignored);
  };
  return there(kTokenizerFile) || std::ranges::any_of(kOtherTokenizerFiles, there);
}

}  // namespace ropewalk
