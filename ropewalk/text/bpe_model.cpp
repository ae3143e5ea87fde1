#include "ropewalk/text/bpe_model.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {

BpeModel::BpeModel(const JsonPart& part) : where_(part.where()) {
  // Files of early versions do not name the kind; theirs has merges.
  const auto type = part.find("type");
  if (type && type->string() != "BPE") type->refuse_value(type->string(), "BPE");
  part.allow_only({"type", "dropout", "unk_token", "continuing_subword_prefix",
                   "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab",
                   "merges"});
  if (const auto dropout = part.find("dropout"); dropout && dropout->value() != 0) {
    dropout->refuse_value(dropout->value().dump(), "null or 0 (dropout makes ids random)");
  }
  const auto text = [&](std::string_view key) {
    const auto found = part.find(key);
    return found ? std::optional(found->string()) : std::nullopt;
  };
  const auto flag = [&](std::string_view key) {
    const auto found = part.find(key);
    return found && found->boolean();
  };
  unknown_ = text("unk_token");
  prefix_ = text("continuing_subword_prefix").value_or("");
  suffix_ = text("end_of_word_suffix").value_or("");
  fuse_unknown_ = flag("fuse_unk");
  byte_fallback_ = flag("byte_fallback");
  ignore_merges_ = flag("ignore_merges");
  read_vocabulary(part.at("vocab"));
  read_merges(part.at("merges"));
  find_characters();
}

void BpeModel::read_vocabulary(const JsonPart& part) {
  if (!part.value().is_object()) {
    part.refuse(fmt::format("expected an object, found {}", part.value().type_name()));
  }
  vocabulary_.reserve(part.value().size());
  for (const auto& [token, id] : part.value().items()) {
    const bool fits = id.is_number_unsigned() && id.get<uint64_t>() < INT32_MAX;
    if (!fits) {
      part.refuse(fmt::format("token '{}' has id {}; expected an integer from 0 to {}", token,
                              id.dump(), INT32_MAX - 1));
    }
    const auto value = id.get<int32_t>();
    vocabulary_.emplace(token, value);
    highest_id_ = std::max(highest_id_, value);
  }
}

void BpeModel::read_merges(const JsonPart& part) {
  std::vector<BpeMerges::Rule> rules;
  rules.reserve(part.size());
  for (size_t i = 0; i < part.size(); ++i) {
    const Json& entry = part.value()[i];
    const bool is_header =
        entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version");
    if (!is_header) rules.push_back(read_rule(part, i));
  }
  merges_ = BpeMerges(rules, symbols());
}

BpeMerges::Rule BpeModel::read_rule(const JsonPart& part, size_t index) const {
  const Json& entry = part.value()[index];
  std::string_view left;
  std::string_view right;
  if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
    left = entry[0].get_ref<const std::string&>();
    right = entry[1].get_ref<const std::string&>();
  } else if (entry.is_string() &&
             std::ranges::count(entry.get_ref<const std::string&>(), ' ') == 1) {
    const std::string_view line = entry.get_ref<const std::string&>();
    left = line.substr(0, line.find(' '));
    right = line.substr(line.find(' ') + 1);
  } else {
    part.item(index).refuse(
        fmt::format("expected \"left right\" or [\"left\", \"right\"], found {}", entry.dump()));
  }
  const auto require = [&](std::string_view token) {
    const auto id = find(token);
    if (!id) {
      part.item(index).refuse(
          fmt::format("the merge of '{}' with '{}' needs '{}', which is not in the "
                      "vocabulary",
                      left, right, token));
    }
    return *id;
  };
  const int32_t left_id = require(left);
  const int32_t right_id = require(right);
  if (right.size() < prefix_.size()) {
    part.item(index).refuse(fmt::format("'{}' lacks the prefix '{}'", right, prefix_));
  }
  const std::string made = std::string(left) + std::string(right.substr(prefix_.size()));
  return {left_id, right_id, require(made)};
}

// All that `split_characters` may give.
std::vector<int32_t> BpeModel::symbols() const {
  std::vector<int32_t> result;
  for (const auto& [token, id] : vocabulary_) {
    const std::string_view text(token);
    const bool is_character = !text.empty() && utf8_size(text[0]) == text.size();
    const bool is_byte = text.size() == 6 && text.starts_with("<0x") && text.ends_with('>');
    const bool is_spelled = !prefix_.empty() || !suffix_.empty();
    if (is_character || is_byte || is_spelled || text == unknown_) result.push_back(id);
  }
  return result;
}

std::optional<int32_t> BpeModel::find(std::string_view token) const {
  const auto found = vocabulary_.find(token);
  return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
}

void BpeModel::find_characters() {
  for (char32_t c = 0; c < characters_.size(); ++c) {
    std::string text;
    append_utf8(text, c);
    characters_[c] = find(text).value_or(-1);
  }
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    bytes_[byte] = find(fmt::format("<0x{:02X}>", byte)).value_or(-1);
  }
}

std::optional<int32_t> BpeModel::find_character(std::string_view character) const {
  if (character.size() > 2) return find(character);
  size_t at = 0;
  const int32_t id = characters_[next_code_point(character, at)];
  return id < 0 ? std::nullopt : std::optional(id);
}

bool BpeModel::append_bytes(std::string_view text, std::vector<int32_t>& ids) const {
  const auto id_of = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
  if (std::any_of(text.begin(), text.end(), [&](char c) { return id_of(c) < 0; })) return false;
  for (const char c : text) ids.push_back(id_of(c));
  return true;
}

int32_t BpeModel::unknown_id() const {
  const auto id = find(*unknown_);
  if (!id) {
    throw InputError(
        "{}.unk_token: '{}' is not in the vocabulary, and neither is a character of the text",
        where_, printable(*unknown_));
  }
  return *id;
}

void BpeModel::split_characters(std::string_view word, std::vector<int32_t>& ids) const {
  int32_t pending = -1;  // an unknown token that the next unknown character may join
  std::string spelled;
  for (size_t at = 0; at < word.size();) {
    const size_t start = at;
    at += utf8_size(word[at]);
    std::string_view character = word.substr(start, at - start);
    std::optional<int32_t> id;
    if (prefix_.empty() && suffix_.empty()) {
      id = find_character(character);
    } else {
      spelled = start == 0 ? "" : prefix_;
      spelled += character;
      if (at == word.size()) spelled += suffix_;
      character = spelled;
      id = find(character);
    }
    if (id) {
      if (pending >= 0) ids.push_back(pending);
      pending = -1;
      ids.push_back(*id);
      continue;
    }
    // Bytes do not wait for an unknown token before them: the library's order.
    if (byte_fallback_ && append_bytes(character, ids)) continue;
    if (!unknown_) continue;
    if (pending >= 0 && !fuse_unknown_) ids.push_back(pending);
    pending = unknown_id();
  }
  if (pending >= 0) ids.push_back(pending);
}

void BpeModel::encode(std::string_view word, BpeScratch& scratch) const {
  scratch.ids.clear();
  if (ignore_merges_) {
    if (const auto id = find(word)) {
      scratch.ids.push_back(*id);
      return;
    }
  }
  split_characters(word, scratch.ids);
  merges_.apply(scratch);
}

}  // namespace ropewalk
