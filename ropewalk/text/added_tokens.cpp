#include "ropewalk/text/added_tokens.h"

#include <algorithm>

#include "ropewalk/base/utf8.h"
#include "ropewalk/text/unicode_classes.h"

namespace ropewalk {

std::vector<AddedToken> read_added_tokens(
    const JsonPart& part, const std::function<std::optional<int32_t>(std::string_view)>& vocabulary,
    size_t vocabulary_tokens) {
  std::vector<AddedToken> tokens;
  std::unordered_map<std::string, size_t> known;  // content to index
  auto next_id = static_cast<int64_t>(vocabulary_tokens);
  for (size_t i = 0; i < part.size(); ++i) {
    const JsonPart entry = part.item(i);
    entry.allow_only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    AddedToken token;
    token.content = entry.at("content").string();
    token.single_word = entry.at("single_word").boolean();
    token.lstrip = entry.at("lstrip").boolean();
    token.rstrip = entry.at("rstrip").boolean();
    token.normalized = entry.at("normalized").boolean();
    if (token.content.empty()) continue;
    const auto repeated = known.find(token.content);
    int64_t id = 0;
    if (repeated != known.end()) {
      id = tokens[repeated->second].id;
    } else if (const auto in_vocabulary = vocabulary(token.content)) {
      id = *in_vocabulary;
    } else {
      id = next_id++;
    }
    token.id = static_cast<int32_t>(entry.at("id").integer(0, INT32_MAX - 1));
    if (token.id != id) {
      entry.refuse(fmt::format("token '{}' has id {}, but its place in the vocabulary is {}",
                               token.content, token.id, id));
    }
    if (repeated != known.end()) {
      tokens[repeated->second] = std::move(token);
    } else {
      known[token.content] = tokens.size();
      tokens.push_back(std::move(token));
    }
  }
  return tokens;
}

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens,
                                   const std::vector<std::string>& patterns)
    : tokens_(std::move(tokens)),
      root_(256),
      token_at_{-1},
      word_(unicode::rust_word_set()),
      whitespace_(unicode::whitespace_set()) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    uint32_t node = 0;
    for (const char c : patterns[i]) {
      const auto byte = static_cast<unsigned char>(c);
      uint32_t& child = node == 0 ? root_[byte] : children_[uint64_t{node} << 8 | byte];
      if (child == 0) {
        child = static_cast<uint32_t>(token_at_.size());
        token_at_.push_back(-1);
      }
      node = child;
    }
    token_at_[node] = static_cast<int32_t>(i);
  }
}

std::optional<AddedTokenFinder::Match> AddedTokenFinder::longest_match(std::string_view text,
                                                                       size_t at) const {
  std::optional<Match> best;
  uint32_t node = root_[static_cast<unsigned char>(text[at])];
  for (size_t end = at + 1; node != 0; ++end) {
    if (token_at_[node] >= 0) best = Match{end, static_cast<size_t>(token_at_[node])};
    if (end == text.size()) break;
    const auto child = children_.find(uint64_t{node} << 8 | static_cast<unsigned char>(text[end]));
    node = child == children_.end() ? 0 : child->second;
  }
  return best;
}

bool AddedTokenFinder::stands_alone(std::string_view text, size_t begin, size_t end) const {
  if (begin > 0) {
    size_t at = previous_code_point_start(text, begin);
    if (word_.contains(next_code_point(text, at))) return false;
  }
  size_t at = end;
  return end == text.size() || !word_.contains(next_code_point(text, at));
}

void AddedTokenFinder::split(std::string_view text, std::vector<Part>& parts) const {
  parts.clear();
  size_t done = 0;  // end of the last part
  for (size_t at = 0; at < text.size();) {
    const std::optional<Match> match = longest_match(text, at);
    if (!match) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match->token];
    size_t begin = at;
    size_t end = match->end;
    at = match->end;
    if (token.single_word && !stands_alone(text, begin, end)) continue;
    if (token.lstrip) {
      while (begin > done) {
        const size_t start = previous_code_point_start(text, begin);
        size_t next = start;
        if (!whitespace_.contains(next_code_point(text, next))) break;
        begin = start;
      }
      begin = std::max(begin, done);
    }
    while (token.rstrip && end < text.size()) {
      size_t next = end;
      if (!whitespace_.contains(next_code_point(text, next))) break;
      end = next;
    }
    if (done < begin) parts.push_back({{done, begin}, std::nullopt});
    // As in the library, a token within whitespace that the one before took still counts, unless
    // its own stripping leaves nothing of it.
    if (begin < end) parts.push_back({{begin, end}, token.id});
    done = end;
  }
  if (done != text.size()) parts.push_back({{done, text.size()}, std::nullopt});
}

}  // namespace ropewalk
