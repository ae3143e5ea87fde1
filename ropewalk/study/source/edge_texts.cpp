#include "ropewalk/study/source/edge_texts.h"

#include <algorithm>
#include <map>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/study/source/locate.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using Ids = std::vector<int64_t>;
using Texts = std::map<Ids, Tokenizer::RunText>;

// The ids that are there, and which of them is the token's own.
Tokenizer::Run run_of(const Ids& around) {
  Tokenizer::Run run;
  for (size_t i = 0; i < around.size(); ++i) {
    if (i == around.size() / 2) run.own = static_cast<int32_t>(run.ids.size());
    if (around[i] >= 0) run.ids.push_back(static_cast<int32_t>(around[i]));
  }
  return run;
}

// Calls see(token) with both tokens of all edges that know their ids.
template <typename See>
void for_tokens(const std::vector<CheckpointTable*>& checkpoints, const See& see) {
  for (CheckpointTable* checkpoint : checkpoints) {
    for (EdgeRow& edge : checkpoint->edges) {
      for (EdgeToken* token : {&edge.query, &edge.key}) {
        if (!token->around.empty() && token->id >= 0) see(*token);
      }
    }
  }
}

std::optional<Tokenizer> find_tokenizer(const std::vector<fs::path>& paths,
                                        const std::string& digest) {
  for (const fs::path& path : paths) {
    std::error_code ignored;
    const bool there =
        fs::is_directory(path, ignored) ? holds_tokenizer(path) : fs::exists(path, ignored);
    if (!there) continue;
    try {
      Tokenizer found = Tokenizer::from_file(path);
      if (found.digest() == digest) return found;
    } catch (const InputError& error) {
      log::debug("{}", error.what());
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<fs::path> tokenizer_paths(const CaptureNames& capture) {
  std::vector<fs::path> paths;
  if (capture.source) {
    for (const std::string& named : {capture.source->tokenizer, capture.source->model}) {
      if (!named.empty()) paths.emplace_back(named);
    }
  }
  // "org/name@COMMIT/SUBFOLDER"
  const size_t at = capture.hub.find('@');
  if (at == std::string::npos) return paths;
  const std::string rest = capture.hub.substr(at + 1);
  const size_t slash = std::min(rest.find('/'), rest.size());
  const HubRepository repository{HubRepository::Kind::model, capture.hub.substr(0, at)};
  if (!is_hub_id(repository.id) || !is_commit(rest.substr(0, slash))) return paths;
  const fs::path snapshot = shared_hub().cache(repository).snapshot(rest.substr(0, slash));
  if (slash + 1 < rest.size()) paths.push_back(snapshot / rest.substr(slash + 1));
  paths.push_back(snapshot);
  return paths;
}

void add_edge_texts(const std::vector<CheckpointTable*>& checkpoints,
                    const std::vector<fs::path>& paths, const std::string& digest) {
  Texts texts;
  for_tokens(checkpoints, [&](const EdgeToken& token) { texts[token.around]; });
  if (texts.empty() || digest.empty()) return;
  try {
    const std::optional<Tokenizer> tokenizer = find_tokenizer(paths, digest);
    if (!tokenizer) {
      log::debug("edges have no text: their tokenizer is not there any more");
      return;
    }
    std::vector<Tokenizer::Run> runs;
    for (const auto& [around, text] : texts) runs.push_back(run_of(around));
    std::vector<Tokenizer::RunText> made = tokenizer->texts(runs);
    size_t next = 0;
    for (auto& [around, text] : texts) text = std::move(made[next++]);
  } catch (const SystemError& error) {  // tables do without
    log::warning("edges have no text: {}", error.what());
    return;
  }
  for_tokens(checkpoints, [&](EdgeToken& token) {
    const Tokenizer::RunText& text = texts.at(token.around);
    token.before = text.before;
    token.text = text.token;
    token.after = text.after;
  });
}

}  // namespace ropewalk
