#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ropewalk/text/bpe_merges.h"
#include "ropewalk/text/json_part.h"

namespace ropewalk {

// The `model` section: a vocabulary and its merges.
class BpeModel {
 public:
  // Throws InputError naming what is missing or not supported.
  explicit BpeModel(const JsonPart& part);

  std::optional<int32_t> find(std::string_view token) const;
  size_t vocabulary_tokens() const { return vocabulary_.size(); }
  int32_t highest_id() const { return highest_id_; }

  // Replaces `scratch.ids` by the ids of one word (valid UTF-8). Throws InputError where a
  // character is unknown and the unknown token is too.
  void encode(std::string_view word, BpeScratch& scratch) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void read_vocabulary(const JsonPart& part);
  void read_merges(const JsonPart& part);
  BpeMerges::Rule read_rule(const JsonPart& part, size_t index) const;
  std::vector<int32_t> symbols() const;
  void find_characters();
  std::optional<int32_t> find_character(std::string_view character) const;
  void split_characters(std::string_view word, std::vector<int32_t>& ids) const;
  bool append_bytes(std::string_view text, std::vector<int32_t>& ids) const;
  int32_t unknown_id() const;

  std::string where_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> vocabulary_;
  BpeMerges merges_;
  int32_t highest_id_ = -1;
  std::optional<std::string> unknown_;
  std::string prefix_;  // of every character but a word's first
  std::string suffix_;  // of a word's last character
  bool fuse_unknown_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
  std::array<int32_t, 0x800>
      characters_;                  // ids of the characters that UTF-8 writes in 1 or 2 bytes
  std::array<int32_t, 256> bytes_;  // ids of <0x00> to <0xFF>; -1 for none
};

}  // namespace ropewalk
