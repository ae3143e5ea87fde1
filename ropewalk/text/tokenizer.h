#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/companion/companion.h"

namespace ropewalk {

// The advice of errors where a model has its tokenizer in other files.
inline constexpr std::string_view kMakeTokenizerJson =
    "transformers writes one from vocab.json and merges.txt or from tokenizer.model, with "
    "AutoTokenizer.from_pretrained(model).save_pretrained(folder)";

// A tokenizer that the library `tokenizers` reads, in the companion. It is loaded, and the
// companion started, for the first text.
class Tokenizer {
 public:
  // The ids of a text, with the post-processor's special tokens apart.
  struct Encoding {
    std::vector<int32_t> prefix;  // e.g. begin-of-text
    std::vector<int32_t> body;
    std::vector<int32_t> suffix;  // e.g. separator
  };
  struct Outcome {
    Encoding encoding;
    std::string problem;  // why this text has no ids; empty where it has
  };
  // Ids that follow each other, one of which is meant; and the text of it, and before and after.
  struct Run {
    std::vector<int32_t> ids;
    int32_t own = 0;
  };
  struct RunText {
    std::string before;
    std::string token;
    std::string after;
  };
  // All ids but those of special tokens, ascending; and those that the post-processor puts in front
  // of a text.
  struct Words {
    std::vector<int32_t> ids;
    std::vector<int32_t> prefix;
  };
  // Texts that were sent.
  struct Batch {
    std::vector<std::string> texts;
    Companion::Ticket ticket;
  };

  // `path` is a tokenizer.json, a folder with one, or a folder with other files from which
  // transformers builds a tokenizer. Throws InputError or SystemError.
  static Tokenizer from_file(const std::filesystem::path& path);
  static Tokenizer from_json(std::string text, const std::string& source);

  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Texts must be valid UTF-8 and not empty. Several batches may be on their way; they are received
  // in order. Throws InputError where the tokenizer is invalid, SystemError where the library is
  // missing.
  Batch send(std::vector<std::string> texts) const;
  // One outcome per text; none after the first problem.
  std::vector<Outcome> receive(Batch batch) const;

  // The text of each. Throws as send() does.
  std::vector<RunText> texts(const std::vector<Run>& runs) const;

  // Throws as send() does.
  Words words() const;

  // The SHA-256 of tokenizer.json. Of a tokenizer that transformers built: of the tokenizer.json
  // that it would write, or else of its files, class and version.
  const std::string& digest() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ropewalk
