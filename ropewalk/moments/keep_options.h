#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "ropewalk/base/files/json.h"

// The accumulators besides second moments, in the order of files: one name per file of
// moments/accumulators/. The code that statistics use to read them is in analysis/ under the same
// name (analysis/replicates/kept_parts.h).
#define ROPEWALK_ACCUMULATORS(X) X(pre_rope) X(lags) X(plasticity) X(rows)

namespace ropewalk {

// How many of something are kept: a number, none or all.
struct KeepCount {
  static constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  int64_t number = 0;

  bool operator==(const KeepCount&) const = default;
};

// The user's choice of what a capture keeps besides second moments.
struct KeepOptions {
  bool pre_rope = true;
  bool lags = true;
  bool plasticity = false;
  KeepCount rows{32};
  bool loss = false;

  bool operator==(const KeepOptions&) const = default;
};

// A member of KeepOptions as users know it: an experiment file, a manifest and Python spell it KEY,
// the command line --KEY or, where it is on by default, --no-KEY. What it keeps has the same name:
// an accumulator, or values per document.
struct KeepOption {
  const char* key;
  std::variant<bool KeepOptions::*, KeepCount KeepOptions::*> member;
  const char* help;  // what is kept, in words that follow "keep"

  // Calls `use` with the member, a bool or a KeepCount.
  template <typename Options, typename Use>
  decltype(auto) visit(Options& options, const Use& use) const {
    return std::visit([&](auto one) -> decltype(auto) { return use(of(options, one)); }, member);
  }
  bool on(const KeepOptions& options) const;

 private:
  // Not inlined, because gcc warns about a missing KeepCount where no member is one.
  template <typename Options, typename Member>
  [[gnu::noinline]] static auto& of(Options& options, Member one) {
    return options.*one;
  }
};

// Every member has a row. CONTRIBUTING.md says what else a new one needs.
inline constexpr auto kKeepOptions = std::to_array<KeepOption>(
    {{"pre_rope", &KeepOptions::pre_rope, "sums of queries and keys before RoPE"},
     {"lags", &KeepOptions::lags, "sums of logits by distance"},
     {"plasticity", &KeepOptions::plasticity,
      "queries and keys of a few tokens, to measure plasticity"},
     {"rows", &KeepOptions::rows, "rows of attention of each document"},
     {"loss", &KeepOptions::loss, "the loss of every document, which runs all of the model"}});

// The row of a key, or null.
const KeepOption* find_keep_option(const std::string& key);

KeepOptions keep_nothing();
KeepOptions keep_everything();
// What both of them keep.
KeepOptions keep_both(const KeepOptions& a, const KeepOptions& b);

// The value in manifests: true, 32 or "all".
Json keep_json(bool value);
Json keep_json(const KeepCount& value);
// All options, by key.
Json keep_json(const KeepOptions& options);

// How something in a capture was measured: two captures' numbers can be compared and joined where
// these records agree and everything that decides the second moments agrees.
struct KeepRecord {
  int64_t numerics = 0;  // its own version (Accumulator::numerics)
  KeepCount count{};     // of a KeepCount: the number that was requested

  bool operator==(const KeepRecord&) const = default;
};
using KeepRecords = std::map<std::string, KeepRecord>;  // by name
Json keep_json(const KeepRecords& records);
// The options that such records were kept with; switches are on where there is a record.
KeepOptions options_of(const KeepRecords& records);

// Parses "32", "0" or "all"; returns nothing for other texts.
std::optional<KeepCount> parse_keep_count(const std::string& text);
inline constexpr const char* kKeepCountExpected = "expected a whole number, 0 for none, or all";

}  // namespace ropewalk
