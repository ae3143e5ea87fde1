#include "ropewalk/text/normalizer.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "ropewalk/base/utf8.h"
#include "ropewalk/text/byte_level.h"
#include "ropewalk/text/pre_tokenizer.h"
#include "ropewalk/text/unicode_classes.h"
#include "ropewalk/text/unicode_normalization.h"
#include "ropewalk/text/unicode_tables.h"

namespace ropewalk {
namespace {

constexpr std::string_view kSupported =
    "Sequence, NFC, NFD, NFKC, NFKD, Prepend, Replace, Lowercase, Strip, StripAccents, ByteLevel";
constexpr int kMaxDepth = 16;

class UnicodeForm final : public Normalizer {
 public:
  explicit UnicodeForm(unicode::NormalForm form) : form_(form) {}
  void apply(NormalizedText& text, RegexScratch&) const override {
    if (text.origin == 0) {
      unicode::normalize(text.text, form_);
      return;
    }
    // The first character comes from the first. The rest of its own form comes from there too,
    // unless it is composed with what follows.
    std::string front = text.text.substr(0, text.origin);
    unicode::normalize(text.text, form_);
    unicode::normalize(front, form_);
    text.origin = text.text.empty() ? 0 : utf8_size(text.text[0]);
    while (text.origin < front.size() && text.origin < text.text.size()) {
      const size_t size = utf8_size(front[text.origin]);
      if (text.text.compare(text.origin, size, front, text.origin, size) != 0) break;
      text.origin += size;
    }
  }

 private:
  unicode::NormalForm form_;
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalizedText& text, RegexScratch&) const override {
    if (text.text.empty()) return;
    text.text.insert(0, prefix_);
    if (text.origin > 0) text.origin += prefix_.size();
  }

 private:
  std::string prefix_;
};

class Replace final : public Normalizer {
 public:
  Replace(Regex pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void apply(NormalizedText& text, RegexScratch& scratch) const override {
    std::vector<TextSpan> matches;
    pattern_.find_all(text.text, scratch, matches);
    if (text.text.empty() || matches.empty()) return;
    size_t replaced = 0;
    for (const TextSpan match : matches) replaced += match.end - match.begin;
    const size_t size = text.text.size() - replaced + matches.size() * content_.size();
    require_rewritten(size, text.longest);
    std::string result;
    result.reserve(size);
    size_t origin = 0;
    bool in_front = text.origin > 0;  // all so far comes from the first character
    size_t done = 0;
    for (const TextSpan match : matches) {
      result.append(text.text, done, match.begin - done);
      if (in_front) origin = result.size() - (match.begin - std::min(match.begin, text.origin));
      // The library takes what replaces several characters to begin at the last of them.
      in_front = in_front && match.end <= text.origin;
      result += content_;
      if (in_front) origin = result.size();
      done = match.end;
    }
    if (in_front) origin = result.size() + text.origin - done;
    result.append(text.text, done);
    text.origin = origin;
    text.text = std::move(result);
  }

 private:
  Regex pattern_;
  std::string content_;
};

class Lowercase final : public Normalizer {
 public:
  Lowercase() {
    for (const unicode::CodePointPair& pair : unicode::lowercase_pairs) lower_[pair.from] = pair.to;
  }
  void apply(NormalizedText& text, RegexScratch&) const override {
    std::string result;
    result.reserve(text.text.size());
    size_t origin = 0;
    for (size_t at = 0; at < text.text.size();) {
      const bool from_first = at < text.origin;
      const char32_t c = next_code_point(text.text, at);
      if (c == 0x130) {
        result += "i\u0307";  // the one letter that becomes two
      } else {
        const auto found = lower_.find(c);
        append_utf8(result, found == lower_.end() ? c : found->second);
      }
      if (from_first) origin = result.size();
    }
    text.origin = origin;
    text.text = std::move(result);
  }

 private:
  std::unordered_map<char32_t, char32_t> lower_;
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(NormalizedText& text, RegexScratch&) const override {
    std::string& content = text.text;
    size_t end = content.size();
    while (right_ && end > 0) {
      const size_t start = previous_code_point_start(content, end);
      size_t at = start;
      if (!whitespace_.contains(next_code_point(content, at))) break;
      end = start;
    }
    size_t begin = 0;
    while (left_ && begin < end) {
      size_t at = begin;
      if (!whitespace_.contains(next_code_point(content, at))) break;
      begin = at;
    }
    text.origin = std::min(text.origin, end);
    text.origin -= std::min(text.origin, begin);
    content = content.substr(begin, end - begin);
  }

 private:
  bool left_;
  bool right_;
  CodePointSet whitespace_ = unicode::whitespace_set();
};

class StripAccents final : public Normalizer {
 public:
  void apply(NormalizedText& text, RegexScratch&) const override {
    std::string result;
    size_t origin = 0;
    for (size_t at = 0; at < text.text.size();) {
      const size_t start = at;
      if (!marks_.contains(next_code_point(text.text, at))) {
        result.append(text.text, start, at - start);
        if (start < text.origin) origin = result.size();
      }
    }
    text.origin = origin;
    text.text = std::move(result);
  }

 private:
  CodePointSet marks_ = unicode::combining_mark_set();
};

class ByteLevelNormalizer final : public Normalizer {
 public:
  void apply(NormalizedText& text, RegexScratch&) const override {
    std::string result;
    append_byte_level(result, std::string_view(text.text).substr(0, text.origin));
    const size_t origin = result.size();
    append_byte_level(result, std::string_view(text.text).substr(text.origin));
    text.origin = origin;
    text.text = std::move(result);
  }
};

void read_into(const JsonPart& part, int depth, Normalizers& out) {
  using unicode::NormalForm;
  constexpr std::array<std::pair<std::string_view, NormalForm>, 4> kForms = {
      {{"NFC", NormalForm::nfc},
       {"NFD", NormalForm::nfd},
       {"NFKC", NormalForm::nfkc},
       {"NFKD", NormalForm::nfkd}}};
  if (depth > kMaxDepth) part.refuse("sequences are nested too deeply");
  const std::string type = part.at("type").string();
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    part.allow_only({"type"});
    out.push_back(std::make_unique<UnicodeForm>(form));
    return;
  }
  if (type == "Sequence") {
    part.allow_only({"type", "normalizers"});
    const JsonPart steps = part.at("normalizers");
    for (size_t i = 0; i < steps.size(); ++i) read_into(steps.item(i), depth + 1, out);
  } else if (type == "Prepend") {
    part.allow_only({"type", "prepend"});
    out.push_back(std::make_unique<Prepend>(part.at("prepend").string()));
  } else if (type == "Replace") {
    part.allow_only({"type", "pattern", "content"});
    out.push_back(
        std::make_unique<Replace>(read_pattern(part.at("pattern")), part.at("content").string()));
  } else if (type == "Lowercase") {
    part.allow_only({"type"});
    out.push_back(std::make_unique<Lowercase>());
  } else if (type == "Strip") {
    part.allow_only({"type", "strip_left", "strip_right"});
    out.push_back(
        std::make_unique<Strip>(part.at("strip_left").boolean(), part.at("strip_right").boolean()));
  } else if (type == "StripAccents") {
    part.allow_only({"type"});
    out.push_back(std::make_unique<StripAccents>());
  } else if (type == "ByteLevel") {
    part.allow_only({"type"});
    out.push_back(std::make_unique<ByteLevelNormalizer>());
  } else {
    part.at("type").refuse_value(type, kSupported);
  }
}

}  // namespace

Normalizers read_normalizers(const JsonPart& part) {
  Normalizers steps;
  read_into(part, 0, steps);
  return steps;
}

}  // namespace ropewalk
