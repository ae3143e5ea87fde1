#include "ropewalk/text/regex.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  RegexScratch scratch;
  std::vector<TextSpan> spans;
  Regex(pattern).find_all(text, scratch, spans);
  std::vector<std::string> result;
  for (const TextSpan span : spans)
    result.emplace_back(text.substr(span.begin, span.end - span.begin));
  return result;
}

std::string refusal(std::string_view pattern) {
  try {
    Regex regex(pattern);
  } catch (const RegexError& error) {
    return error.what();
  }
  return "";
}

using Texts = std::vector<std::string>;

TEST(Regex, MatchesByCharacterAndReportsBytes) {
  EXPECT_EQ(matches(R"(\p{L}+|\s)", "über 你好!"), (Texts{"über", " ", "你好"}));
  EXPECT_EQ(matches(".", "é\n𝟘"), (Texts{"é", "𝟘"}));
  EXPECT_EQ(matches("a.b", "a.b axb"), (Texts{"a.b", "axb"}));
  EXPECT_EQ(matches(Regex::escape("a.b"), "a.b axb"), (Texts{"a.b"}));
}

TEST(Regex, KnowsCharactersThatPcre2DoesNot) {
  EXPECT_EQ(matches(R"(\p{L})", "\U0001E4D0"), (Texts{"\U0001E4D0"}));  // Nag Mundari, Unicode 15
  EXPECT_EQ(matches(R"(\p{Han})", "\U00031350"), (Texts{"\U00031350"}));
}

TEST(Regex, IgnoresCaseAsOnigurumaDoes) {
  EXPECT_EQ(matches("(?i:'s|'k)", "'S 'ſ 'K 's"), (Texts{"'S", "'ſ", "'K", "'s"}));
  EXPECT_EQ(matches("a(?i:b)", "aB AB ab"), (Texts{"aB", "ab"}));
}

TEST(Regex, PlusBehindAnIntervalRepeatsIt) {
  EXPECT_EQ(matches(R"(\d{1,3}+)", "1234567"), (Texts{"1234567"}));
  EXPECT_EQ(matches(R"(\d{1,3})", "1234567"), (Texts{"123", "456", "7"}));
  EXPECT_TRUE(matches("a++a", "aaa").empty());
}

// An atomic group gives nothing back and takes no second alternative; PCRE2 10.42's JIT does.
TEST(Regex, AtomicGroupsAreNotEnteredAgain) {
  EXPECT_EQ(matches("(?>a*|[ab])[ab]a?", "aaaaxaaa"), Texts{});
  EXPECT_EQ(matches("(?>a*|b+)(?=a)", "aabaaba"), Texts{});
  EXPECT_EQ(matches("(?>a+)b", "aab"), Texts{"aab"});
}

TEST(Regex, LeavesOutEmptyMatchesBehindOthers) {
  EXPECT_EQ(matches("x*", "axb"), (Texts{"", "x", ""}));
  EXPECT_EQ(matches("", "ab").size(), 3u);
}

TEST(Regex, RefusesByNameWhatItDoesNotKnow) {
  EXPECT_NE(refusal(R"((a)\1)").find("unsupported escape '\\1'"), std::string::npos);
  EXPECT_NE(refusal("(?<name>a)").find("unsupported kind of group '(?'"), std::string::npos);
  EXPECT_NE(refusal(R"(\p{Klingon})").find("unknown property '\\p{Klingon}'"), std::string::npos);
  EXPECT_NE(refusal("[[:alpha:]]").find("POSIX bracket"), std::string::npos);
  EXPECT_NE(refusal("(?m:a)").find("unsupported kind of group"), std::string::npos);
  EXPECT_NE(refusal("(?i:ss)").find("ligatures"), std::string::npos);
  EXPECT_NE(refusal("(?i:é)").find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal("(?i:\\p{L})").find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal(R"(\xE9)").find("beyond ASCII"), std::string::npos);
  EXPECT_NE(refusal("a{2}?").find("lazy repeat of a fixed count"), std::string::npos);
  EXPECT_NE(refusal(R"([\s-a])").find("'-' after a class"), std::string::npos);
  for (const char* malformed : {"(", ")", "[a", "a**", "*a", "(?=a)*", "\\", "[]", "[z-a]",
                                "a{3,2}", "\\p{L", "\\x{110000}", "\\u12", "\\x{}", "(?i"}) {
    EXPECT_NE(refusal(malformed), "") << malformed;
  }
}

// Deep recursion in the pattern, not only in the text.
TEST(Regex, RefusesPatternsThatNestWithoutEnd) {
  EXPECT_NE(refusal(std::string(100'000, '(')), "");
  EXPECT_NE(refusal(std::string(100'000, '[')), "");
  std::string nested(5'000, '(');
  nested.append("a").append(5'000, ')');
  EXPECT_NE(refusal(nested), "");
}

// Every match here takes millions of steps and succeeds, so that no single one shows the pattern's
// nature.
TEST(Regex, GivesUpPatternsThatExplode) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text.append(32, 'a').append("b");
  EXPECT_THROW(matches("(?:a|aa)+c|.", text), InputError);
}

// Few steps, each of which looks at all of the text: between matches, or where there are none.
TEST(Regex, GivesUpPatternsThatLookTooFar) {
  const std::string text(1'000'000, 'a');
  for (const char* pattern : {"a(?!a*+b)", "a*+b"}) {
    RegexScratch scratch;
    scratch.begin_text(0.05);
    std::vector<TextSpan> found;
    try {
      Regex(pattern).find_all(text, scratch, found);
      FAIL() << pattern;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("takes too long on a text of 1000000 characters"),
                std::string::npos);
    }
  }
}

TEST(Regex, FindsMatchesFarApart) {
  std::string text(3000, 'a');
  text[255] = text[256] = text[1023] = text[2999] = 'b';
  EXPECT_EQ(matches("b+", text), (Texts{"bb", "b", "b"}));
  EXPECT_EQ(matches("(?<=a{9})b", text), (Texts{"b", "b", "b"}));
  EXPECT_EQ(matches("$", text), (Texts{""}));
}

TEST(Regex, TakesMegabytesInOneMatch) {
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(matches(R"(\p{L}+)", text).size(), 1u);
  EXPECT_EQ(matches("(?:a|b)+", text).size(), 1u);  // needs a stack, which grows
  EXPECT_EQ(matches("(?:a|ab)(?:a|b)+", text).size(), 1u);
}

}  // namespace
}  // namespace ropewalk
