#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// What errors advise where a model has its tokenizer in other files.
inline constexpr std::string_view kMakeTokenizerJson =
    "transformers writes one from vocab.json and merges.txt or from tokenizer.model, with "
    "AutoTokenizer.from_pretrained(model).save_pretrained(folder)";

// A Hugging Face `tokenizer.json` with a BPE model. Gives the ids that the `tokenizers` library
// gives. Parts it does not know are refused by name when the file is read. Thread-safe once built.
class Tokenizer {
 public:
  // The ids of a text, the post-processor's special tokens told apart.
  struct Encoding {
    std::vector<int32_t> prefix;  // e.g. begin-of-text
    std::vector<int32_t> body;
    std::vector<int32_t> suffix;  // e.g. separator
  };

  // `path` is a tokenizer.json or a folder holding one; other files of tokenizers are not read.
  // Throws InputError or SystemError.
  static Tokenizer from_file(const std::filesystem::path& path);
  static Tokenizer from_json(std::string_view text, const std::string& source);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Throws InputError on invalid UTF-8, naming the byte offset.
  Encoding encode(std::string_view text) const;

  // SHA-256 of the file's bytes.
  const std::string& digest() const;
  // One more than the highest id it can produce.
  int32_t vocabulary_size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<const Impl> impl);
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ropewalk
