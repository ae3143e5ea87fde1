#include "ropewalk/text/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "ropewalk/base/utf8.h"
#include "ropewalk/text/byte_level.h"
#include "ropewalk/text/unicode_classes.h"

namespace ropewalk {
namespace {

constexpr std::string_view kSupported =
    "Sequence, Split, ByteLevel, Digits, Metaspace, Punctuation, Whitespace, WhitespaceSplit, "
    "CharDelimiterSplit";
constexpr int kMaxDepth = 16;

// What GPT-2 calls a word; ByteLevel's own unless use_regex is false.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Rewrites each piece into a new text. `begin` (text, piece, whether it begins where the input
// does) puts something in front, `append` (text, part) adds a piece or part of one, rewritten.
template <typename Begin, typename Append>
void rewrite(PieceList& list, Begin begin, Append append) {
  std::string text;
  text.reserve(list.text.size() + list.text.size() / 2);
  size_t origin = 0;
  for (TextSpan& piece : list.pieces) {
    const size_t start = text.size();
    const auto content = std::string_view(list.text).substr(piece.begin, piece.end - piece.begin);
    const size_t from_first =
        std::min(content.size(), list.origin - std::min(list.origin, piece.begin));
    begin(text, content, from_first > 0);
    append(text, content.substr(0, from_first));
    if (from_first > 0) origin = text.size();
    append(text, content.substr(from_first));
    piece = {start, text.size()};
  }
  list.text = std::move(text);
  list.origin = origin;
}

class SplitStep final : public PreTokenizer {
 public:
  explicit SplitStep(Splitter splitter) : splitter_(std::move(splitter)) {}
  void apply(PieceList& list, RegexScratch& scratch) const override {
    splitter_.split(list, scratch);
  }

 private:
  Splitter splitter_;
};

class ByteLevelStep final : public PreTokenizer {
 public:
  ByteLevelStep(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) splitter_.emplace(Regex(kByteLevelPattern), SplitBehavior::isolated, false);
  }
  void apply(PieceList& list, RegexScratch& scratch) const override {
    if (add_prefix_space_) {
      rewrite(
          list,
          [](std::string& out, std::string_view piece, bool) {
            if (!piece.starts_with(' ')) out.push_back(' ');
          },
          [](std::string& out, std::string_view part) { out += part; });
    }
    if (splitter_) splitter_->split(list, scratch);
    rewrite(
        list, [](std::string&, std::string_view, bool) {},
        [](std::string& out, std::string_view part) { append_byte_level(out, part); });
  }

 private:
  bool add_prefix_space_;
  std::optional<Splitter> splitter_;
};

class MetaspaceStep final : public PreTokenizer {
 public:
  enum class Prepend { always, first, never };

  MetaspaceStep(char32_t replacement, Prepend prepend, bool split) : prepend_(prepend) {
    append_utf8(replacement_, replacement);
    if (split) {
      splitter_.emplace(Regex(Regex::escape(replacement_)), SplitBehavior::merged_with_next, false);
    }
  }
  void apply(PieceList& list, RegexScratch& scratch) const override {
    const auto begin = [&](std::string& out, std::string_view piece, bool at_origin) {
      const bool wanted = prepend_ == Prepend::always || (prepend_ == Prepend::first && at_origin);
      if (wanted && !piece.starts_with(' ') && !piece.starts_with(replacement_))
        out += replacement_;
    };
    rewrite(list, begin, [&](std::string& out, std::string_view part) {
      for (const char c : part) {
        if (c == ' ') {
          out += replacement_;
        } else {
          out.push_back(c);
        }
      }
    });
    if (splitter_) splitter_->split(list, scratch);
  }

 private:
  std::string replacement_;
  Prepend prepend_;
  std::optional<Splitter> splitter_;
};

std::unique_ptr<PreTokenizer> read_metaspace(const JsonPart& part) {
  using Prepend = MetaspaceStep::Prepend;
  part.allow_only(
      {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"});
  Prepend prepend = Prepend::always;
  if (const auto scheme = part.find("prepend_scheme")) {
    const std::string name = scheme->string();
    if (name == "first") {
      prepend = Prepend::first;
    } else if (name == "never") {
      prepend = Prepend::never;
    } else if (name != "always") {
      scheme->refuse_value(name, "always, first, never");
    }
  }
  // The older spelling; the library refuses the two together unless they agree.
  const auto prefix = part.find("add_prefix_space");
  if (prefix && !prefix->boolean() && prepend != Prepend::never) {
    prefix->refuse("false contradicts prepend_scheme, which is not 'never'");
  }
  const auto split = part.find("split");
  return std::make_unique<MetaspaceStep>(part.at("replacement").character(), prepend,
                                         !split || split->boolean());
}

std::unique_ptr<PreTokenizer> make_split(std::string_view pattern, SplitBehavior behavior,
                                         bool invert = false) {
  static const RegexProperties properties = {{"numeric", unicode::rust_numeric_set()},
                                             {"punctuation", unicode::rust_punctuation_set()},
                                             {"word", unicode::rust_word_set()}};
  return std::make_unique<SplitStep>(Splitter(Regex(pattern, properties), behavior, invert));
}

void read_into(const JsonPart& part, int depth, PreTokenizers& out) {
  if (depth > kMaxDepth) part.refuse("sequences are nested too deeply");
  const std::string type = part.at("type").string();
  const auto flag = [&](std::string_view key, bool otherwise) {
    const auto found = part.find(key);
    return found ? found->boolean() : otherwise;
  };
  if (type == "Sequence") {
    part.allow_only({"type", "pretokenizers"});
    const JsonPart steps = part.at("pretokenizers");
    for (size_t i = 0; i < steps.size(); ++i) read_into(steps.item(i), depth + 1, out);
  } else if (type == "Split") {
    part.allow_only({"type", "pattern", "behavior", "invert"});
    out.push_back(std::make_unique<SplitStep>(Splitter(read_pattern(part.at("pattern")),
                                                       read_split_behavior(part.at("behavior")),
                                                       part.at("invert").boolean())));
  } else if (type == "ByteLevel") {
    part.allow_only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    out.push_back(std::make_unique<ByteLevelStep>(part.at("add_prefix_space").boolean(),
                                                  flag("use_regex", true)));
  } else if (type == "Digits") {
    part.allow_only({"type", "individual_digits"});
    out.push_back(make_split("\\p{numeric}", part.at("individual_digits").boolean()
                                                 ? SplitBehavior::isolated
                                                 : SplitBehavior::contiguous));
  } else if (type == "Metaspace") {
    out.push_back(read_metaspace(part));
  } else if (type == "Punctuation") {
    part.allow_only({"type", "behavior"});
    const auto behavior = part.find("behavior");
    out.push_back(make_split("\\p{punctuation}",
                             behavior ? read_split_behavior(*behavior) : SplitBehavior::isolated));
  } else if (type == "Whitespace") {
    part.allow_only({"type"});
    out.push_back(make_split("\\p{word}+|[^\\p{word}\\s]+", SplitBehavior::removed, true));
  } else if (type == "WhitespaceSplit") {
    part.allow_only({"type"});
    out.push_back(make_split("\\s", SplitBehavior::removed));
  } else if (type == "CharDelimiterSplit") {
    part.allow_only({"type", "delimiter"});
    std::string delimiter;
    append_utf8(delimiter, part.at("delimiter").character());
    out.push_back(make_split(Regex::escape(delimiter), SplitBehavior::removed));
  } else {
    part.at("type").refuse_value(type, kSupported);
  }
}

}  // namespace

PreTokenizers read_pre_tokenizers(const JsonPart& part) {
  PreTokenizers steps;
  read_into(part, 0, steps);
  return steps;
}

SplitBehavior read_split_behavior(const JsonPart& part) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous},
  }};
  const std::string found = part.string();
  for (const auto& [name, behavior] : kNames) {
    if (found == name) return behavior;
  }
  part.refuse_value(found, "Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

Regex read_pattern(const JsonPart& part) {
  part.allow_only({"String", "Regex"});
  if (part.value().size() != 1) part.refuse("expected either 'String' or 'Regex'");
  try {
    if (const auto text = part.find("String")) return Regex(Regex::escape(text->string()));
    return Regex(part.at("Regex").string());
  } catch (const RegexError& error) {
    part.refuse_unsupported(error.what());
  }
}

}  // namespace ropewalk
