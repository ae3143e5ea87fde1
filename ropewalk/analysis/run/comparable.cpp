#include "ropewalk/analysis/run/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

std::string shown(const std::string& text) { return printable_excerpt(text, 60); }

bool differ(const std::string& a, const std::string& b) {
  return !a.empty() && !b.empty() && a != b;
}

bool differ(int64_t a, int64_t b) { return a != 0 && b != 0 && a != b; }

// The first property in which two checkpoints cannot be compared, as "layers is 12 and 24"; else
// empty.
std::string incomparable(const CheckpointOrigin& a, const CheckpointOrigin& b) {
  if (differ(a.architecture, b.architecture)) {
    return fmt::format("architecture is '{}' and '{}'", shown(a.architecture),
                       shown(b.architecture));
  }
  const std::pair<const char*, int64_t CheckpointOrigin::*> counts[] = {
      {"layers", &CheckpointOrigin::layers},
      {"n_q_heads", &CheckpointOrigin::n_q_heads},
      {"n_kv_heads", &CheckpointOrigin::n_kv_heads},
      {"head_dim", &CheckpointOrigin::head_dim}};
  for (const auto& [name, member] : counts) {
    if (differ(a.*member, b.*member)) {
      return fmt::format("{} is {} and {}", name, a.*member, b.*member);
    }
  }
  return "";
}

// The accumulators that only the other capture keeps, as "lags or pre_rope"; else empty.
std::string kept_by_other(const CheckpointOrigin& origin, const CheckpointOrigin& other) {
  std::string names;
  for (const std::string& name : other.accumulators) {
    if (std::find(origin.accumulators.begin(), origin.accumulators.end(), name) !=
        origin.accumulators.end())
      continue;
    names += (names.empty() ? "" : " or ") + name;
  }
  return shown(names);
}

// Collects warnings; each is reported once, with the first two checkpoints to which it applies.
class CountedWarnings {
 public:
  void add(const char* kind, const std::string& text) {
    const auto [found, fresh] = counts_.emplace(kind, 0);
    ++found->second;
    if (fresh) order_.emplace_back(kind, text);
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> result;
    for (const auto& [kind, text] : order_) {
      const int64_t more = counts_.at(kind) - 1;
      result.push_back(
          more == 0 ? text
                    : fmt::format("{} (and {} more {})", text, more, more == 1 ? "pair" : "pairs"));
    }
    return result;
  }

 private:
  std::map<std::string, int64_t> counts_;
  std::vector<std::pair<std::string, std::string>> order_;
};

void compare(const CheckpointTable& a, const CheckpointTable& b, CountedWarnings& warnings) {
  const std::string both = fmt::format("'{}' and '{}'", shown(a.label), shown(b.label));
  constexpr const char* kUnpaired =
      "errors of their difference are computed as for independent samples";
  if (a.blocks != b.blocks) {
    warnings.add("blocks",
                 fmt::format("{} have {} and {} blocks: {}", both, a.blocks, b.blocks, kUnpaired));
  } else if (a.documents != b.documents) {
    const bool told = a.origin.context == b.origin.context ||
                      std::min(a.origin.context, b.origin.context) >= kPrefixTokens;
    const std::string maybe =
        fmt::format(" (perhaps the same ones: contexts below {} do not tell)", kPrefixTokens);
    warnings.add("documents", fmt::format("{} read different documents{}: {}", both,
                                          told ? "" : maybe, kUnpaired));
  }
  constexpr const char* kArithmetic = "their difference includes the difference between these";
  if (differ(a.origin.dtype, b.origin.dtype)) {
    warnings.add("dtype", fmt::format("{} ran in {} and {}: {}", both, shown(a.origin.dtype),
                                      shown(b.origin.dtype), kArithmetic));
  }
  if (differ(a.origin.device, b.origin.device)) {
    warnings.add("device", fmt::format("{} ran on {} and {}: {}", both, shown(a.origin.device),
                                       shown(b.origin.device), kArithmetic));
  }
  if (a.origin.backend != b.origin.backend) {
    const auto named = [](const std::string& backend) {
      return backend.empty() ? std::string("Ropewalk's own pass") : shown(backend);
    };
    warnings.add("backend", fmt::format("{} ran with {} and {}: {}", both, named(a.origin.backend),
                                        named(b.origin.backend), kArithmetic));
  }
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const std::string lacked = kept_by_other(one->origin, other->origin);
    if (lacked.empty()) continue;
    warnings.add("kept", fmt::format("'{}' has no {} data, but '{}' has: these columns are empty "
                                     "for the former, and bands.csv and curves.csv lack its rows",
                                     shown(one->label), lacked, shown(other->label)));
  }
  // Names of folders differ from step to step; only ids of the Hub (org/name) identify a model.
  const bool ids = a.model.find('/') != a.model.npos && b.model.find('/') != b.model.npos;
  if (ids && a.model != b.model) {
    warnings.add("model", fmt::format("{} belong to different models, {} and {}", both,
                                      shown(a.model), shown(b.model)));
  }
}

}  // namespace

std::vector<std::string> check_comparable(const std::vector<CheckpointTable>& checkpoints) {
  CountedWarnings warnings;
  for (size_t i = 1; i < checkpoints.size(); ++i) {
    for (size_t other = 0; other < i; ++other) {
      const CheckpointTable& a = checkpoints[other];
      const CheckpointTable& b = checkpoints[i];
      const std::string reason = incomparable(a.origin, b.origin);
      if (!reason.empty()) {
        throw InputError("'{}' and '{}' cannot be in one table: {}; make one table for each",
                         shown(a.label), shown(b.label), reason);
      }
    }
    compare(checkpoints[i - 1], checkpoints[i], warnings);
  }
  return warnings.sentences();
}

}  // namespace ropewalk
