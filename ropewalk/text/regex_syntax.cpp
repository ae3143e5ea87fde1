#include "ropewalk/text/regex_syntax.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ropewalk/text/regex_characters.h"
#include "ropewalk/text/unicode_classes.h"

namespace ropewalk {
namespace {

class Parser {
 public:
  Parser(std::string_view pattern, const RegexProperties& properties)
      : pattern_(pattern), characters_(pattern, properties) {}

  RegexSyntax parse() {
    while (at_ < pattern_.size()) parse_one();
    if (!groups_.empty()) characters_.fail(groups_.back().start, "an unclosed '('");
    return std::move(syntax_);
  }

 private:
  struct Group {
    size_t start;      // in the pattern
    size_t item;       // of its opening
    bool ignore_case;  // outside
    bool repeatable;   // an assertion is not
  };

  char peek(size_t offset = 0) const {
    return at_ + offset < pattern_.size() ? pattern_[at_ + offset] : '\0';
  }
  bool skip(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  void emit(std::string text) { syntax_.items.push_back({std::move(text), 0}); }
  void emit(const CodePointSet& set) {
    const auto known = std::find(syntax_.sets.begin(), syntax_.sets.end(), set);
    syntax_.items.push_back({"", static_cast<size_t>(known - syntax_.sets.begin())});
    if (known == syntax_.sets.end()) syntax_.sets.push_back(set);
  }
  void begin_atom() { atom_ = syntax_.items.size(); }

  void parse_one() {
    const char c = peek();
    const char folded_before = std::exchange(previous_folded_, '\0');
    switch (c) {
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '|':
        ++at_;
        atom_.reset();
        return emit("|");
      case '*':
      case '+':
      case '?':
        ++at_;
        return repeat(std::string(1, c), true);
      case '{':
        if (parse_interval()) return;
        break;
      case '[': {
        begin_atom();
        return emit(characters_.brackets(at_, ignore_case_));
      }
      case '.':
        ++at_;
        begin_atom();
        return emit(newline_.complement());
      case '^':  // Oniguruma's begins a line, but not an empty one after a last newline
        ++at_;
        atom_.reset();
        return emit_around("(?:\\A|(?<=", newline_, ")(?!\\z))");
      case '$':
        ++at_;
        atom_.reset();
        return emit_around("(?:\\z|(?=", newline_, "))");
      case '\\':
        if (parse_anchor()) return;
        break;
      default:
        break;
    }
    literal(folded_before);
  }

  void emit_around(std::string before, const CodePointSet& set, std::string after) {
    if (!before.empty()) emit(std::move(before));
    emit(set);
    emit(std::move(after));
  }

  void literal(char folded_before) {
    const size_t start = at_;
    begin_atom();
    const RegexCharacters::Element element = characters_.element(at_, false);
    CodePointSet set = element.code_point ? CodePointSet::of(*element.code_point) : element.set;
    if (ignore_case_) {
      set = characters_.ignoring_case(set, start);
      if (element.code_point) refuse_folded_pair(folded_before, *element.code_point, start);
    }
    emit(set);
  }

  // Ignoring case, Oniguruma also lets one character stand for two, as a ligature does for "ff".
  void refuse_folded_pair(char before, char32_t code_point, size_t start) {
    const char folded = code_point < 0x80 ? static_cast<char>(code_point | 0x20) : '\0';
    constexpr std::array<std::string_view, 5> kPairs = {"ss", "st", "ff", "fi", "fl"};
    for (const std::string_view pair : kPairs) {
      if (before == pair[0] && folded == pair[1]) {
        characters_.fail(start, "ignoring case is not supported for letters that form ligatures:");
      }
    }
    previous_folded_ = folded;
  }

  bool parse_anchor() {
    const CodePointSet word = unicode::word_set();
    if (skip("\\A")) {
      emit("\\A");
    } else if (skip("\\z")) {
      emit("\\z");
    } else if (skip("\\b")) {
      emit_around("(?:(?<=", word, ")(?!");
      emit_around("", word, ")|(?<!");
      emit_around("", word, ")(?=");
      emit_around("", word, "))");
    } else if (skip("\\B")) {
      emit_around("(?:(?<=", word, ")(?=");
      emit_around("", word, ")|(?<!");
      emit_around("", word, ")(?!");
      emit_around("", word, "))");
    } else {
      return false;
    }
    atom_.reset();
    return true;
  }

  void open_group() {
    const Group group{at_, syntax_.items.size(), ignore_case_, true};
    constexpr std::array<std::string_view, 4> kAssertions = {"(?=", "(?!", "(?<=", "(?<!"};
    groups_.push_back(group);
    atom_.reset();
    for (const std::string_view assertion : kAssertions) {
      if (skip(assertion)) {
        groups_.back().repeatable = false;
        return emit(std::string(assertion));
      }
    }
    if (skip("(?>")) return emit("(?>");
    if (skip("(?i:")) {
      ignore_case_ = true;
    } else if (skip("(?-i:")) {
      ignore_case_ = false;
    } else if (at_ == 0 && skip("(?i)")) {
      ignore_case_ = true;
      groups_.pop_back();
      return;
    } else if (!skip("(?:")) {
      // Nothing refers back to a group, so none needs to be captured.
      skip("(");
      if (peek() == '?' || peek() == '*') {
        characters_.fail(at_ - 1, "an unsupported kind of group '(" + std::string(1, peek()) + "'");
      }
    }
    emit("(?:");
  }

  void close_group() {
    if (groups_.empty()) characters_.fail(at_, "an unmatched ')'");
    const Group group = groups_.back();
    groups_.pop_back();
    ++at_;
    emit(")");
    ignore_case_ = group.ignore_case;
    atom_.reset();
    if (group.repeatable) atom_ = group.item;
  }

  // {n}, {n,}, {,m} or {n,m}; false where the brace is a plain character.
  bool parse_interval() {
    size_t end = at_ + 1;
    const auto number = [&] {
      const size_t start = end;
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9') ++end;
      return std::string(pattern_.substr(start, end - start));
    };
    std::string low = number();
    const bool comma = end < pattern_.size() && pattern_[end] == ',';
    if (comma) ++end;
    const std::string high = comma ? number() : low;
    const bool closed = end < pattern_.size() && pattern_[end] == '}';
    if (!closed || (low.empty() && high.empty())) return false;
    if (low.size() > 4 || high.size() > 4) characters_.fail(at_, "a repeat count over 9999");
    if (low.empty()) low = "0";
    if (!high.empty() && std::stoi(high) < std::stoi(low)) {
      characters_.fail(at_, "a repeat with its limits the wrong way round");
    }
    at_ = end + 1;
    if (!comma && peek() == '?') characters_.fail(at_, "a lazy repeat of a fixed count");
    repeat(comma ? "{" + low + "," + high + "}" : "{" + low + "}", false);
    return true;
  }

  // `possessive`: whether a '+' behind the operator makes it so; behind an interval it repeats the
  // whole.
  void repeat(std::string operation, bool possessive) {
    if (!atom_) characters_.fail(at_ - 1, "a repeat of nothing, of an assertion or of a repeat");
    if (skip("?")) {
      operation += "?";
    } else if (possessive && skip("+")) {
      operation += "+";
    } else if (!possessive && skip("+")) {
      const auto at = syntax_.items.begin() + static_cast<std::ptrdiff_t>(*atom_);
      syntax_.items.insert(at, {"(?:", 0});
      operation += ")+";
    }
    emit(std::move(operation));
    atom_.reset();
  }

  std::string_view pattern_;
  RegexCharacters characters_;
  RegexSyntax syntax_;
  size_t at_ = 0;
  std::vector<Group> groups_;
  bool ignore_case_ = false;
  std::optional<size_t> atom_;   // the item that a repeat here would apply to
  char previous_folded_ = '\0';  // the letter just before, where case is ignored
  const CodePointSet newline_ = CodePointSet::of('\n');
};

}  // namespace

RegexSyntax parse_regex(std::string_view pattern, const RegexProperties& properties) {
  return Parser(pattern, properties).parse();
}

}  // namespace ropewalk
