#include "ropewalk/study/source/dataset.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/hub/listing.h"
#include "ropewalk/hub/remote_file.h"
#include "ropewalk/study/source/dataset_card.h"
#include "ropewalk/study/source/dataset_files.h"
#include "ropewalk/text/remote_corpus.h"

namespace ropewalk {
namespace {

constexpr const char* kCard = "README.md";
constexpr const char* kConverted = "refs/convert/parquet";

// The folder that contains all matches of a pattern.
std::string fixed_folder(const std::string& pattern) {
  const std::string fixed = pattern.substr(0, pattern.find_first_of("*?["));
  const size_t slash = fixed.rfind('/');
  return slash == std::string::npos ? "" : fixed.substr(0, slash);
}

// Looks for a split; every step finds its files, or says what exists instead.
class SplitSearch {
 public:
  SplitSearch(Hub& hub, const DatasetName& name) : hub_(hub) {
    found_.name = name;
    found_.repository = {HubRepository::Kind::dataset, name.id};
    found_.commit = hub.commit(found_.repository, name.revision, kCard);
  }

  Dataset run() {
    const std::vector<DatasetConfig> configs = read_card();
    if (!configs.empty()) {
      const DatasetConfig& config = choose_config(configs);
      if (take_split(config.name, splits_of(config))) return std::move(found_);
    } else if (found_.name.config.empty()) {
      const std::vector<HubFile> files = list_files(hub_, found_.repository, found_.commit);
      if (take_split("", guess_splits(files, "", found_.name.split))) return std::move(found_);
    }
    if (take_converted()) return std::move(found_);
    throw InputError(
        "{}: holds no Parquet and no JSON lines{}, and the Hub has not converted it to Parquet",
        what(), found_.name.config.empty() ? "" : " of configuration '" + found_.name.config + "'");
  }

 private:
  std::string what() const { return fmt::format("{}@{}", found_.name.id, found_.name.revision); }

  std::vector<DatasetConfig> read_card() {
    const std::filesystem::path card =
        hub_.fetch(found_.repository, found_.commit, kCard, {kCard, false, {}});
    if (card.empty()) return {};
    constexpr int64_t kMost = int64_t{16} << 20;
    return read_dataset_card(read_text_file(card, kMost), fmt::format("{}/{}", what(), kCard));
  }

  template <typename Names>
  [[noreturn]] void fail_choice(const char* thing, const std::string& asked, const Names& names) {
    std::vector<std::string> all(names.begin(), names.end());
    if (asked.empty()) {
      throw InputError("{}: has several {}s, {}; choose one as the corpus's {}", what(), thing,
                       quoted_list(all), thing == std::string("split") ? "split" : "config");
    }
    throw InputError("{}: has no {} '{}'; it has {}", what(), thing, asked, quoted_list(all));
  }

  const DatasetConfig& choose_config(const std::vector<DatasetConfig>& configs) {
    const std::string& asked = found_.name.config;
    std::vector<std::string> names;
    for (const DatasetConfig& config : configs) {
      names.push_back(config.name);
      if (asked.empty() ? configs.size() == 1 || config.chosen || config.name == "default"
                        : config.name == asked) {
        return config;
      }
    }
    fail_choice("configuration", asked, names);
  }

  SplitFiles splits_of(const DatasetConfig& config) {
    const std::string from = config.folder.empty() ? "" : config.folder + "/";
    if (config.splits.empty()) {
      return guess_splits(list_files(hub_, found_.repository, found_.commit, config.folder),
                          config.folder, found_.name.split);
    }
    SplitFiles splits;
    for (const auto& [split, patterns] : config.splits) {
      const bool wanted = found_.name.split.empty() || found_.name.split == split;
      std::vector<HubFile>& files = splits[split];
      if (!wanted) continue;  // a match of the name is enough
      std::vector<std::string> whole;
      std::vector<HubFile> listed;
      std::set<std::string> folders;
      for (const std::string& pattern : patterns) {
        whole.push_back(from + pattern);
        const std::string folder = fixed_folder(whole.back());
        if (!folders.insert(folder).second) continue;
        for (HubFile& file : list_files(hub_, found_.repository, found_.commit, folder)) {
          listed.push_back(std::move(file));
        }
      }
      files = matching_files(listed, whole);
    }
    return splits;
  }

  // Returns false where there is nothing to choose from.
  bool take_split(const std::string& config, const SplitFiles& splits) {
    if (splits.empty()) return false;
    const std::string& asked = found_.name.split;
    auto chosen = splits.find(asked);
    if (asked.empty() && splits.size() == 1) chosen = splits.begin();
    if (chosen == splits.end()) {
      std::vector<std::string> names;
      for (const auto& [split, files] : splits) names.push_back(split);
      fail_choice("split", asked, names);
    }
    if (chosen->second.empty()) return false;
    found_.name.config = config;
    found_.name.split = chosen->first;
    found_.files = chosen->second;
    return true;
  }

  bool take_converted() {
    try {
      found_.commit = hub_.commit(found_.repository, kConverted, kCard);
    } catch (const InputError&) {
      return false;
    }
    found_.converted = true;
    const auto configs = converted_splits(list_files(hub_, found_.repository, found_.commit));
    if (configs.empty()) return false;
    const std::string& asked = found_.name.config;
    auto chosen = configs.find(asked.empty() ? "default" : asked);
    if (asked.empty() && configs.size() == 1) chosen = configs.begin();
    if (chosen == configs.end()) {
      std::vector<std::string> names;
      for (const auto& [config, splits] : configs) names.push_back(config);
      fail_choice("configuration", asked, names);
    }
    return take_split(chosen->first, chosen->second);
  }

  Hub& hub_;
  Dataset found_;
};

}  // namespace

std::string Dataset::title() const { return fmt::format("{}, split {}", name.id, name.split); }

Json Dataset::describe() const {
  return {{"dataset", name.id},        {"config", name.config}, {"split", name.split},
          {"revision", name.revision}, {"commit", commit},      {"converted", converted}};
}

Dataset find_dataset(Hub& hub, const DatasetName& name) { return SplitSearch(hub, name).run(); }

OpenDataset open_dataset(Hub& hub, const Dataset& dataset, const CorpusOptions& options) {
  const auto opened = std::make_shared<std::vector<std::shared_ptr<RemoteFile>>>();
  std::vector<OpenCorpus> parts;
  for (const HubFile& file : dataset.files) {
    parts.emplace_back([&hub, dataset, file, options, opened]() -> std::unique_ptr<CorpusReader> {
      const HubCache cache = hub.cache(dataset.repository);
      const CorpusKind kind = *dataset_kind(file.name);
      if (cache.has(dataset.commit, file.name)) {
        return open_corpus_file(cache.file(dataset.commit, file.name), kind, options);
      }
      opened->push_back(open_remote_file(hub, dataset.repository, dataset.commit, file));
      return open_remote_corpus(opened->back(), kind, options);
    });
  }
  return {open_concatenated(dataset.title(), std::move(parts)), [opened] {
            int64_t bytes = 0;
            for (const auto& file : *opened) bytes += file->bytes_requested();
            return bytes;
          }};
}

}  // namespace ropewalk
