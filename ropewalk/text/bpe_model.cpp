#include "ropewalk/text/bpe_model.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/text/code_points.h"

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
  const size_t count = part.size();
  merges_ = BpeMerges(count);
  size_t rank = 0;
  for (size_t i = 0; i < count; ++i) {
    const Json& entry = part.value()[i];
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      add_merge(part, rank++, entry[0].get_ref<const std::string&>(),
                entry[1].get_ref<const std::string&>());
      continue;
    }
    if (!entry.is_string()) {
      part.item(i).refuse("expected \"left right\" or [\"left\", \"right\"]");
    }
    const std::string_view line = entry.get_ref<const std::string&>();
    if (line.starts_with("#version")) continue;
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      part.item(i).refuse(fmt::format("expected \"left right\", found \"{}\"", line));
    }
    add_merge(part, rank++, line.substr(0, space), line.substr(space + 1));
  }
}

void BpeModel::add_merge(const JsonPart& merges, size_t rank, std::string_view left,
                         std::string_view right) {
  const auto require = [&](std::string_view token) {
    const auto id = find(token);
    if (!id) {
      merges.refuse(
          fmt::format("merge {} ('{}' with '{}') names '{}', which is not in the vocabulary", rank,
                      left, right, token));
    }
    return *id;
  };
  const int32_t left_id = require(left);
  const int32_t right_id = require(right);
  if (right.size() < prefix_.size()) {
    merges.refuse(
        fmt::format("merge {} ('{}' with '{}') lacks the prefix '{}'", rank, left, right, prefix_));
  }
  const std::string made = std::string(left) + std::string(right.substr(prefix_.size()));
  merges_.add(left_id, right_id, {static_cast<uint32_t>(rank), require(made)});
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
        "{}.unk_token: '{}' is not in the vocabulary, but the text has a character that "
        "is not there either",
        where_, *unknown_);
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
  merge_all(merges_, scratch);
}

}  // namespace ropewalk
