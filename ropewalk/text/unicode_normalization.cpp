#include "ropewalk/text/unicode_normalization.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <vector>

#include "ropewalk/base/utf8.h"
#include "ropewalk/text/code_point_partition.h"
#include "ropewalk/text/unicode_tables.h"

namespace ropewalk::unicode {
namespace {

// Hangul syllables are composed of a leading consonant, a vowel and perhaps a trailing consonant by
// arithmetic (Unicode 3.12).
constexpr char32_t kSyllable = 0xAC00, kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kLeadings = 19, kVowels = 21, kTrailings = 28;
constexpr char32_t kSyllables = kLeadings * kVowels * kTrailings;

bool is_syllable(char32_t c) { return c >= kSyllable && c < kSyllable + kSyllables; }

bool composes(NormalForm form) { return form == NormalForm::nfc || form == NormalForm::nfkc; }
bool is_compatible(NormalForm form) { return form == NormalForm::nfkc || form == NormalForm::nfkd; }

class Data {
 public:
  Data() {
    read(canonical_decompositions, canonical_);
    read(compatible_decompositions, compatible_);
    for (const CombiningClass& entry : combining_classes) classes_[entry.code_point] = entry.value;
    for (const Composition& entry : compositions) {
      composed_[key(entry.first, entry.second)] = entry.composed;
    }
  }

  uint8_t combining_class(char32_t c) const {
    const auto found = classes_.find(c);
    return found == classes_.end() ? uint8_t{0} : found->second;
  }

  void decompose(char32_t c, NormalForm form, std::vector<char32_t>& out) const {
    if (is_syllable(c)) {
      const char32_t index = c - kSyllable;
      out.push_back(kLeading + index / (kVowels * kTrailings));
      out.push_back(kVowel + index / kTrailings % kVowels);
      if (index % kTrailings != 0) out.push_back(kTrailing + index % kTrailings);
      return;
    }
    const auto find = [&](const Decompositions& table) {
      const auto found = table.find(c);
      if (found == table.end()) return false;
      out.insert(out.end(), found->second.begin(), found->second.end());
      return true;
    };
    if (is_compatible(form) && find(compatible_)) return;
    if (!find(canonical_)) out.push_back(c);
  }

  // The character that the two make, or 0.
  char32_t compose(char32_t first, char32_t second) const {
    if (first >= kLeading && first < kLeading + kLeadings && second >= kVowel &&
        second < kVowel + kVowels) {
      return kSyllable + ((first - kLeading) * kVowels + (second - kVowel)) * kTrailings;
    }
    if (is_syllable(first) && (first - kSyllable) % kTrailings == 0 && second > kTrailing &&
        second < kTrailing + kTrailings) {
      return first + (second - kTrailing);
    }
    const auto found = composed_.find(key(first, second));
    return found == composed_.end() ? 0 : found->second;
  }

  // What a normal form may touch: what decomposes, what combines and what composes with its left
  // neighbour. Text without any of it is already in that form.
  CodePointSet affected(NormalForm form) const {
    std::vector<CodePointRange> ranges;
    const auto add = [&](char32_t c) { ranges.push_back({c, c}); };
    if (composes(form)) {
      ranges.push_back({kVowel, kVowel + kVowels - 1});
      ranges.push_back({kTrailing + 1, kTrailing + kTrailings - 1});
      for (const Composition& entry : compositions) add(entry.second);
    } else {
      ranges.push_back({kSyllable, kSyllable + kSyllables - 1});
    }
    for (const CombiningClass& entry : combining_classes) add(entry.code_point);
    if (is_compatible(form)) {
      for (const auto& [c, text] : compatible_) add(c);
    }
    for (const auto& [c, text] : canonical_) {
      // A composed character stays as it is where composing would only bring it back.
      if (!composes(form) || recomposed(c) != std::vector<char32_t>{c}) add(c);
    }
    return CodePointSet(ranges);
  }

  // One character in NFC.
  std::vector<char32_t> recomposed(char32_t c) const {
    std::vector<char32_t> text;
    decompose(c, NormalForm::nfc, text);
    compose_all(text);
    return text;
  }

  void sort_marks(std::vector<char32_t>& text) const {
    const auto by_class = [&](char32_t a, char32_t b) {
      return combining_class(a) < combining_class(b);
    };
    for (auto at = text.begin(); at != text.end();) {
      const auto is_base = [&](char32_t c) { return combining_class(c) == 0; };
      const auto begin = std::find_if_not(at, text.end(), is_base);
      at = std::find_if(begin, text.end(), is_base);
      std::stable_sort(begin, at, by_class);
    }
  }

  void compose_all(std::vector<char32_t>& text) const {
    size_t kept = 0;
    size_t base = text.size();  // index of the last base kept; none yet
    uint8_t last_class = 0;     // of the character kept before this one
    for (size_t i = 0; i < text.size(); ++i) {
      const char32_t c = text[i];
      const uint8_t its_class = combining_class(c);
      if (base < kept) {
        const bool adjacent = kept == base + 1;
        const bool blocked = !adjacent && last_class >= its_class;
        if (const char32_t composed = blocked ? 0 : compose(text[base], c)) {
          text[base] = composed;
          continue;
        }
      }
      if (its_class == 0) base = kept;
      last_class = its_class;
      text[kept++] = c;
    }
    text.resize(kept);
  }

 private:
  using Decompositions = std::unordered_map<char32_t, std::span<const char32_t>>;

  static uint64_t key(char32_t first, char32_t second) {
    return static_cast<uint64_t>(first) << 32 | second;
  }
  static void read(std::span<const char32_t> table, Decompositions& out) {
    for (size_t at = 0; at < table.size(); at += 2 + table[at + 1]) {
      out[table[at]] = table.subspan(at + 2, table[at + 1]);
    }
  }

  Decompositions canonical_, compatible_;
  std::unordered_map<char32_t, uint8_t> classes_;
  std::unordered_map<uint64_t, char32_t> composed_;
};

const Data& data() {
  static const Data instance;
  return instance;
}

const CodePointPartition& affected_by(NormalForm form) {
  const auto make = [](NormalForm which) {
    const CodePointSet set = data().affected(which);
    return CodePointPartition({&set, 1});
  };
  static const std::array<CodePointPartition, 4> partitions = {
      make(NormalForm::nfc), make(NormalForm::nfd), make(NormalForm::nfkc), make(NormalForm::nfkd)};
  return partitions[static_cast<size_t>(form)];
}

}  // namespace

void normalize(std::string& text, NormalForm form) {
  // Up to U+02FF nothing combines, and composed forms leave it alone.
  const bool is_plain = std::all_of(text.begin(), text.end(), [&](char c) {
    return static_cast<unsigned char>(c) < (form == NormalForm::nfc ? 0xCC : 0x80);
  });
  if (is_plain) return;

  const CodePointPartition& partition = affected_by(form);
  const auto is_affected = [&](char32_t c) {
    return partition.is_member(partition.class_of(c), 0);
  };
  std::string result;
  std::vector<char32_t> segment;
  size_t copied = 0;  // bytes of `text` already in `result`
  size_t base = 0;    // where the last unaffected character begins; never before `copied`
  for (size_t at = 0; at < text.size();) {
    const size_t start = at;
    char32_t c = next_code_point(text, at);
    if (!is_affected(c)) {
      base = start;
      continue;
    }
    // The segment: the character before, with which this one may compose, and all affected ones on.
    result.append(text, copied, base - copied);
    segment.clear();
    at = base;
    for (size_t next = base; next < text.size();) {
      c = next_code_point(text, next);
      if (next > start + utf8_size(text[start]) && !is_affected(c)) break;
      data().decompose(c, form, segment);
      at = next;
    }
    data().sort_marks(segment);
    if (composes(form)) data().compose_all(segment);
    for (const char32_t out : segment) append_utf8(result, out);
    copied = at;
    base = at;
  }
  result.append(text, copied);
  text = std::move(result);
}

}  // namespace ropewalk::unicode
