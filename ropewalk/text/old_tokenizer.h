#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/tokenizer.h"

namespace ropewalk {

// A Hugging Face `tokenizer.json` with a BPE model. Gives the ids that the `tokenizers` library
// gives. Parts it does not know are refused by name when the file is read. Thread-safe once built.
class OldTokenizer {
 public:
  using Encoding = Tokenizer::Encoding;

  // `path` is a tokenizer.json or a folder holding one; other files of tokenizers are not read.
  // Throws InputError or SystemError.
  static OldTokenizer from_file(const std::filesystem::path& path);
  static OldTokenizer from_json(std::string_view text, const std::string& source);

  ~OldTokenizer();
  OldTokenizer(OldTokenizer&&) noexcept;
  OldTokenizer& operator=(OldTokenizer&&) noexcept;

  // Throws InputError on invalid UTF-8, naming the byte offset.
  Encoding encode(std::string_view text) const;

  // SHA-256 of the file's bytes.
  const std::string& digest() const;
  // One more than the highest id it can produce.
  int32_t vocabulary_size() const;

 private:
  struct Impl;
  explicit OldTokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ropewalk
