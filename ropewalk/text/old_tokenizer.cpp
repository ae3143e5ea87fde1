#include "ropewalk/text/old_tokenizer.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/hash.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/added_tokens.h"
#include "ropewalk/text/bpe_model.h"
#include "ropewalk/text/json_part.h"
#include "ropewalk/text/normalizer.h"
#include "ropewalk/text/post_processor.h"
#include "ropewalk/text/pre_tokenizer.h"
#include "ropewalk/text/rewritten.h"
#include "ropewalk/text/word_cache.h"

namespace ropewalk {
namespace {

constexpr int64_t kLargestFile = int64_t{256} << 20;
// Far above any. A text like one, but for its end, is compared with it from every place.
constexpr size_t kLongestAddedToken = 4096;

// Everything one call of `encode` works with. Kept between calls for its cache.
struct Scratch {
  RegexScratch regex;
  BpeScratch bpe;
  WordCache cache;
  std::vector<AddedTokenFinder::Part> raw_parts;
  std::vector<AddedTokenFinder::Part> normalized_parts;
  PieceList list;
};

void normalize(const Normalizers& steps, NormalizedText& text, RegexScratch& scratch) {
  for (const auto& step : steps) {
    step->apply(text, scratch);
    require_rewritten(text.text.size(), text.longest);
  }
}

// A section of the file, or nothing where it is absent or null.
template <typename Result>
Result read_section(const JsonPart& file, std::string_view key, Result (*read)(const JsonPart&)) {
  const auto part = file.find(key);
  return part ? read(*part) : Result{};
}

// The finder for the tokens that are looked for in raw or in normalised text.
AddedTokenFinder make_finder(const std::vector<AddedToken>& all, bool normalized,
                             const Normalizers& steps, const JsonPart& file) {
  std::vector<AddedToken> tokens;
  std::vector<std::string> patterns;
  std::unordered_set<std::string> known;
  RegexScratch scratch;
  for (const AddedToken& token : all) {
    if (token.normalized != normalized) continue;
    NormalizedText pattern{token.content};
    if (normalized) normalize(steps, pattern, scratch);
    if (pattern.text.empty() || !known.insert(pattern.text).second) {
      file.refuse(fmt::format("added token '{}' (id {}) is {} once normalised", token.content,
                              token.id,
                              pattern.text.empty() ? "empty" : "the same as another one"));
    }
    if (pattern.text.size() > kLongestAddedToken) {
      file.refuse(fmt::format("the added token of id {} is {} bytes long; expected at most {}",
                              token.id, pattern.text.size(), kLongestAddedToken));
    }
    tokens.push_back(token);
    patterns.push_back(std::move(pattern.text));
  }
  return {std::move(tokens), patterns};
}

}  // namespace

struct OldTokenizer::Impl {
  std::string digest;
  BpeModel model;
  Normalizers normalizers;
  PreTokenizers pre_tokenizers;
  PostProcessor post_processor;
  std::vector<AddedToken> added_tokens;
  AddedTokenFinder raw_finder;
  AddedTokenFinder normalized_finder;
  int32_t vocabulary_size = 0;

  mutable std::mutex mutex;
  mutable std::vector<std::unique_ptr<Scratch>> idle;  // scratches between two calls

  Impl(const JsonPart& file, std::string file_digest)
      : digest(std::move(file_digest)),
        model(file.at("model")),
        normalizers(read_section(file, "normalizer", read_normalizers)),
        pre_tokenizers(read_section(file, "pre_tokenizer", read_pre_tokenizers)),
        post_processor(read_section(file, "post_processor", read_post_processor)),
        added_tokens(read_tokens(file)),
        raw_finder(make_finder(added_tokens, false, normalizers, file)),
        normalized_finder(make_finder(added_tokens, true, normalizers, file)) {
    int32_t highest = model.highest_id();
    for (const AddedToken& token : added_tokens) highest = std::max(highest, token.id);
    for (const int32_t id : post_processor.prefix) highest = std::max(highest, id);
    for (const int32_t id : post_processor.suffix) highest = std::max(highest, id);
    vocabulary_size = highest + 1;
  }

  std::vector<AddedToken> read_tokens(const JsonPart& file) const {
    const auto part = file.find("added_tokens");
    if (!part) return {};
    const auto vocabulary = [&](std::string_view token) { return model.find(token); };
    return read_added_tokens(*part, vocabulary, model.vocabulary_tokens());
  }

  void encode(std::string_view text, Scratch& scratch, std::vector<int32_t>& ids) const {
    raw_finder.split(text, scratch.raw_parts);
    for (const AddedTokenFinder::Part& part : scratch.raw_parts) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      NormalizedText stretch{
          std::string(text.substr(part.span.begin, part.span.end - part.span.begin)),
          part.span.begin == 0 ? utf8_size(text.front()) : 0};
      normalize(normalizers, stretch, scratch.regex);
      encode_normalized(stretch, scratch, ids);
    }
  }

  void encode_normalized(const NormalizedText& stretch, Scratch& scratch,
                         std::vector<int32_t>& ids) const {
    normalized_finder.split(stretch.text, scratch.normalized_parts);
    for (const AddedTokenFinder::Part& part : scratch.normalized_parts) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      PieceList& list = scratch.list;
      list.text.assign(stretch.text, part.span.begin, part.span.end - part.span.begin);
      list.pieces = {{0, list.text.size()}};
      list.origin = stretch.origin - std::min(stretch.origin, part.span.begin);
      const size_t longest = longest_rewritten(list.text.size());
      for (const auto& step : pre_tokenizers) {
        step->apply(list, scratch.regex);
        require_rewritten(list.text.size(), longest);
      }
      for (const TextSpan piece : list.pieces) {
        encode_word({list.text.data() + piece.begin, piece.end - piece.begin}, scratch, ids);
      }
    }
  }

  void encode_word(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
    const bool is_short = word.size() <= WordCache::kLongestWord;
    if (is_short) {
      if (const auto known = scratch.cache.find(word)) {
        ids.insert(ids.end(), known->begin(), known->end());
        return;
      }
    }
    model.encode(word, scratch.bpe);
    if (is_short) scratch.cache.store(word, scratch.bpe.ids);
    ids.insert(ids.end(), scratch.bpe.ids.begin(), scratch.bpe.ids.end());
  }

  std::unique_ptr<Scratch> take_scratch() const {
    const std::lock_guard lock(mutex);
    if (idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(idle.back());
    idle.pop_back();
    return scratch;
  }

  void give_back(std::unique_ptr<Scratch> scratch) const {
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(scratch));
  }
};

OldTokenizer OldTokenizer::from_file(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(path, ignored);
  const auto file = is_folder ? path / "tokenizer.json" : path;
  if (is_folder && !std::filesystem::exists(file, ignored)) {
    throw InputError("{}: holds no tokenizer.json; {}", path.string(), kMakeTokenizerJson);
  }
  return from_json(read_text_file(file, kLargestFile), file.string());
}

OldTokenizer OldTokenizer::from_json(std::string_view text, const std::string& source) {
  const Json json = parse_json(text, source);
  const JsonPart file(json, source);
  file.allow_only({"version", "truncation", "padding", "added_tokens", "normalizer",
                   "pre_tokenizer", "post_processor", "decoder", "model"});
  if (const auto version = file.find("version"); version && version->string() != "1.0") {
    version->refuse_value(version->string(), "1.0");
  }
  return OldTokenizer(std::make_unique<const Impl>(file, sha256_hex(text)));
}

OldTokenizer::OldTokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
OldTokenizer::~OldTokenizer() = default;
OldTokenizer::OldTokenizer(OldTokenizer&&) noexcept = default;
OldTokenizer& OldTokenizer::operator=(OldTokenizer&&) noexcept = default;

OldTokenizer::Encoding OldTokenizer::encode(std::string_view text) const {
  require_utf8(text, "text");
  if (text.size() > kLargestText) {
    throw InputError("text of {} bytes is too long for the tokenizer; the most is {}", text.size(),
                     kLargestText);
  }
  Encoding encoding{impl_->post_processor.prefix, {}, impl_->post_processor.suffix};
  auto scratch = impl_->take_scratch();
  // A hundred times as long as patterns of published tokenizers take, and then some.
  constexpr double kSeconds = 10;
  constexpr double kBytesPerSecond = 200'000;
  scratch->regex.begin_text(kSeconds + static_cast<double>(text.size()) / kBytesPerSecond);
  impl_->encode(text, *scratch, encoding.body);
  impl_->give_back(std::move(scratch));
  return encoding;
}

const std::string& OldTokenizer::digest() const { return impl_->digest; }
int32_t OldTokenizer::vocabulary_size() const { return impl_->vocabulary_size; }

}  // namespace ropewalk
