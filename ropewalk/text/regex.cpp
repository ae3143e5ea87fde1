#define PCRE2_CODE_UNIT_WIDTH 8

#include "ropewalk/text/regex.h"

#include <fmt/format.h>
#include <pcre2.h>
#include <time.h>

#include <array>
#include <limits>
#include <new>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/code_point_partition.h"

namespace ropewalk {
namespace {

// A match of a sane pattern takes a few steps, some thousands in odd texts. Where it takes more
// they are counted, and a text has as many as take seconds: a pattern that explodes stops there.
constexpr uint32_t kStepsAtFirst = 10'000;
constexpr uint32_t kMostSteps = 100'000'000;
// Steps do not tell how far each one looks: at every place of a text to its end, and a megabyte
// takes minutes. So the time is looked at after so many places without a match, or matches.
constexpr size_t kStartsAtOnce = 256;
constexpr uint32_t kHeapLimitKiB = 1 << 20;
constexpr size_t kJitStackStart = size_t{32} << 10;
constexpr size_t kJitStackMax = size_t{16} << 20;

template <typename T, void (*Free)(T*)>
struct Deleter {
  void operator()(T* pointer) const { Free(pointer); }
};
template <typename T, void (*Free)(T*)>
using Handle = std::unique_ptr<T, Deleter<T, Free>>;

using CodeHandle = Handle<pcre2_code, pcre2_code_free>;
using MatchDataHandle = Handle<pcre2_match_data, pcre2_match_data_free>;
using MatchContextHandle = Handle<pcre2_match_context, pcre2_match_context_free>;
using JitStackHandle = Handle<pcre2_jit_stack, pcre2_jit_stack_free>;

template <typename T>
T* require(T* pointer) {
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

double computing_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

std::string pcre2_message(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

// The set as PCRE2 sees it: those of the bytes that name a kind of character in the set.
std::string spell_set(const CodePointPartition& kinds, size_t set) {
  std::string members;
  for (int kind = 0; kind < kinds.classes(); ++kind) {
    if (kinds.is_member(kind, set)) members += fmt::format("\\x{:02x}", kind);
  }
  return members.empty() ? "(?!)" : "[" + members + "]";
}

// The one text that a pattern without operators or choice matches; else empty.
std::string fixed_text(const RegexSyntax& syntax) {
  std::string text;
  for (const RegexSyntax::Item& item : syntax.items) {
    if (!item.text.empty()) return "";
    const auto ranges = syntax.sets[item.set].ranges();
    if (ranges.size() != 1 || ranges[0].first != ranges[0].last) return "";
    append_utf8(text, ranges[0].first);
  }
  return text;
}

}  // namespace

struct RegexScratch::Buffers {
  MatchDataHandle match_data{require(pcre2_match_data_create(1, nullptr))};
  MatchContextHandle context{require(pcre2_match_context_create(nullptr))};
  JitStackHandle jit_stack{pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr)};
  std::vector<uint8_t> kinds;                                 // of the characters of the text
  uint32_t steps_left = kMostSteps;                           // of the text
  double deadline = std::numeric_limits<double>::infinity();  // of this thread's computing time

  Buffers() {
    pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
    if (jit_stack) pcre2_jit_stack_assign(context.get(), nullptr, jit_stack.get());
  }
};

RegexScratch::RegexScratch() : buffers_(std::make_unique<Buffers>()) {}
RegexScratch::~RegexScratch() = default;
void RegexScratch::begin_text(double seconds) {
  buffers_->steps_left = kMostSteps;
  buffers_->deadline = computing_seconds() + seconds;
}

struct Regex::Program {
  std::string pattern;  // as given
  std::string literal;  // what it matches, where that is one fixed text
  CodePointPartition kinds;
  CodeHandle code;

  Program(std::string_view source, const RegexSyntax& syntax)
      : pattern(source), literal(fixed_text(syntax)), kinds(syntax.sets) {
    std::string translated;
    for (const RegexSyntax::Item& item : syntax.items) {
      translated += item.text.empty() ? spell_set(kinds, item.set) : item.text;
    }
    int error = 0;
    PCRE2_SIZE offset = 0;
    code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                             PCRE2_NEVER_UTF | PCRE2_USE_OFFSET_LIMIT, &error, &offset, nullptr));
    if (!code)
      throw RegexError(fmt::format("{}: in the pattern '{}'", pcre2_message(error), pattern));
    // Where there is no JIT, matching is slower and the same. Atomic groups, which no published
    // tokenizer has, do without: PCRE2 10.42's JIT enters some of them a second time.
    if (translated.find("(?>") == std::string::npos)
      pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  }

  // The next match at or after `start`, in characters.
  std::optional<TextSpan> match(size_t start, RegexScratch::Buffers& buffers) const {
    for (;; start += kStartsAtOnce) {
      const auto found = match_near(start, buffers);
      if (found || buffers.kinds.size() - start < kStartsAtOnce) return found;
      require_time(buffers);
    }
  }

  void require_time(const RegexScratch::Buffers& buffers) const {
    throw_if_interrupted();
    if (computing_seconds() < buffers.deadline) return;
    throw InputError(
        "the tokenizer's pattern '{}' takes too long on a text of {} characters: it looks too far "
        "at too many places; take a shorter text, or another tokenizer",
        pattern, buffers.kinds.size());
  }

 private:
  // A match that begins at `start` or at one of the places after it.
  std::optional<TextSpan> match_near(size_t start, RegexScratch::Buffers& buffers) const {
    pcre2_set_offset_limit(buffers.context.get(), start + kStartsAtOnce - 1);
    const auto run = [&](uint32_t limit) {
      const auto with = [&](uint32_t options) {
        return pcre2_match(code.get(), buffers.kinds.data(), buffers.kinds.size(), start, options,
                           buffers.match_data.get(), buffers.context.get());
      };
      pcre2_set_match_limit(buffers.context.get(), limit);
      const int result = with(0);
      // The interpreter keeps its stack on the heap, which may grow further.
      return result == PCRE2_ERROR_JIT_STACKLIMIT ? with(PCRE2_NO_JIT) : result;
    };
    uint32_t limit = kStepsAtFirst;
    int result = run(limit);
    while (result == PCRE2_ERROR_MATCHLIMIT && limit <= buffers.steps_left) {
      buffers.steps_left -= limit;
      limit *= 4;
      result = run(limit);
    }
    if (result == PCRE2_ERROR_NOMATCH) return std::nullopt;
    if (result < 0) {
      throw InputError(
          "the tokenizer's pattern '{}' cannot be matched on a text of {} characters: {}", pattern,
          buffers.kinds.size(), pcre2_message(result));
    }
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(buffers.match_data.get());
    return TextSpan{offsets[0], offsets[1]};
  }
};

Regex::Regex(std::string_view pattern, const RegexProperties& properties) try
    : program_(std::make_unique<const Program>(pattern, parse_regex(pattern, properties))) {
} catch (const std::length_error& error) {
  throw RegexError(fmt::format("{} in the pattern '{}'", error.what(), pattern));
}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::string Regex::escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\.+*?()|[]{}^$").find(c) != std::string_view::npos)
      result.push_back('\\');
    result.push_back(c);
  }
  return result;
}

void Regex::find_all(std::string_view text, RegexScratch& scratch,
                     std::vector<TextSpan>& matches) const {
  matches.clear();
  if (const std::string& literal = program_->literal; !literal.empty()) {
    for (size_t at = text.find(literal); at != std::string_view::npos;) {
      matches.push_back({at, at + literal.size()});
      at = text.find(literal, at + literal.size());
    }
    return;
  }
  RegexScratch::Buffers& buffers = *scratch.buffers_;
  buffers.kinds.resize(text.size());
  size_t characters = 0;
  for (size_t at = 0; at < text.size();) {
    buffers.kinds[characters++] = program_->kinds.class_of(next_code_point(text, at));
  }
  buffers.kinds.resize(characters);

  size_t character = 0;  // these two move together
  size_t byte = 0;
  const auto byte_of = [&](size_t target) {
    if (characters == text.size()) return target;  // ASCII
    for (; character < target; ++character) byte += utf8_size(text[byte]);
    return byte;
  };
  std::optional<size_t> last_end;
  for (size_t start = 0; start <= characters;) {
    const std::optional<TextSpan> match = program_->match(start, buffers);
    if (!match) break;
    if (match->begin == match->end && last_end == match->end) {
      ++start;
      continue;
    }
    start = match->end;
    last_end = match->end;
    const size_t begin = byte_of(match->begin);
    matches.push_back({begin, byte_of(match->end)});
    if (matches.size() % kStartsAtOnce == 0) program_->require_time(buffers);
  }
}

}  // namespace ropewalk
