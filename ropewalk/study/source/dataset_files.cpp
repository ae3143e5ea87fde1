#include "ropewalk/study/source/dataset_files.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "ropewalk/text/remote_corpus.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using Names = std::vector<std::string>;

Names names_in(const std::string& path) {
  Names names;
  for (const fs::path& name : fs::path(path)) {
    if (name != "." && !name.empty()) names.push_back(name.string());
  }
  return names;
}

// Compares both lists, remembering one position per "**", so that no pattern takes long.
bool match_names(const Names& names, const Names& patterns) {
  size_t n = 0;
  size_t p = 0;
  size_t back_n = 0;
  size_t back_p = std::string::npos;
  while (n < names.size()) {
    if (p < patterns.size() && patterns[p] == "**") {
      back_p = p++;
      back_n = n;
    } else if (p < patterns.size() && ::fnmatch(patterns[p].c_str(), names[n].c_str(), 0) == 0) {
      ++p;
      ++n;
    } else if (back_p != std::string::npos) {
      p = back_p + 1;
      n = ++back_n;
    } else {
      return false;
    }
  }
  while (p < patterns.size() && patterns[p] == "**") ++p;
  return p == patterns.size();
}

// The number of names that are skipped unless the pattern has as many of them.
size_t count_special(const Names& names) {
  size_t count = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool folder = i + 1 < names.size();
    count += names[i].starts_with('.') || (folder && names[i].starts_with("__")) ? 1 : 0;
  }
  return count;
}

bool is_data(const HubFile& file) {
  static const std::set<std::string> kOther{"config.json", "dataset_info.json",
                                            "dataset_infos.json", "dataset_dict.json"};
  return dataset_kind(file.name) && !kOther.contains(fs::path(file.name).filename().string());
}

// The words that mean a split in names of folders and files.
Names words_of(const std::string& split) {
  if (split == "train") return {"train", "training"};
  if (split == "validation") return {"validation", "valid", "dev", "val"};
  if (split == "test") return {"test", "testing", "eval", "evaluation"};
  return {split};
}

// Turns a name into a pattern that matches only this name.
std::string literal(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// The files that match one convention for naming splits; the word replaces {0} in its patterns.
SplitFiles splits_named(const std::vector<HubFile>& files, const std::string& folder,
                        const std::string& asked, const Names& ways) {
  SplitFiles splits;
  for (const std::string& split :
       {std::string("train"), std::string("validation"), std::string("test"), asked}) {
    if (split.empty()) continue;
    Names patterns;
    for (const std::string& word : words_of(split)) {
      for (const std::string& way : ways) {
        patterns.push_back(folder + fmt::format(fmt::runtime(way), literal(word)));
      }
    }
    if (auto found = matching_files(files, patterns); !found.empty()) splits[split] = found;
  }
  return splits;
}

}  // namespace

bool matches_pattern(const std::string& path, const std::string& pattern) {
  const Names names = names_in(path);
  const Names patterns = names_in(pattern);
  return match_names(names, patterns) && count_special(names) == count_special(patterns);
}

std::vector<HubFile> matching_files(const std::vector<HubFile>& files,
                                    const std::vector<std::string>& patterns) {
  std::vector<HubFile> sorted;
  std::copy_if(files.begin(), files.end(), std::back_inserter(sorted), is_data);
  std::sort(sorted.begin(), sorted.end(),
            [](const HubFile& a, const HubFile& b) { return a.name < b.name; });
  std::vector<HubFile> found;
  std::set<std::string> taken;
  for (const std::string& pattern : patterns) {
    for (const HubFile& file : sorted) {
      if (matches_pattern(file.name, pattern) && taken.insert(file.name).second) {
        found.push_back(file);
      }
    }
  }
  return files_of_one_format(found);
}

std::vector<HubFile> files_of_one_format(const std::vector<HubFile>& files) {
  std::vector<HubFile> parquet;
  std::vector<HubFile> lines;
  for (const HubFile& file : files) {
    const bool is_parquet = dataset_kind(file.name)->format == CorpusKind::Format::parquet;
    (is_parquet ? parquet : lines).push_back(file);
  }
  return parquet.size() >= lines.size() ? parquet : lines;
}

SplitFiles guess_splits(const std::vector<HubFile>& files, const std::string& folder,
                        const std::string& asked) {
  const std::string from = folder.empty() ? "" : folder + "/";
  SplitFiles sharded;
  const std::string number = "[0-9][0-9][0-9][0-9][0-9]";
  for (const HubFile& file :
       matching_files(files, {fmt::format("{}data/*-{}-of-{}*.*", from, number, number)})) {
    const std::string name = fs::path(file.name).filename().string();
    constexpr size_t kNumber = std::string_view("-00000-of-").size();
    for (size_t at = name.find("-of-"); at != std::string::npos; at = name.find("-of-", at + 1)) {
      if (at + 4 < kNumber) continue;
      sharded[name.substr(0, at + 4 - kNumber)].push_back(file);
      break;
    }
  }
  if (!sharded.empty()) return sharded;
  const Names folders{"**/{0}/**", "**/{0}[-._ 0-9]*/**", "**/*[-._ 0-9]{0}/**",
                      "**/*[-._ 0-9]{0}[-._ 0-9]*/**"};
  const Names names{"**/{0}[-._ 0-9]*", "**/*[-._ 0-9]{0}[-._ 0-9]*"};
  for (const Names* ways : {&folders, &names}) {
    SplitFiles splits = splits_named(files, from, asked, *ways);
    if (!splits.empty()) return splits;
  }
  auto all = matching_files(files, {from + "**"});
  if (all.empty()) return {};
  return {{"train", all}};
}

std::map<std::string, SplitFiles> converted_splits(const std::vector<HubFile>& files) {
  constexpr std::string_view kPartial = "partial-";
  std::map<std::string, SplitFiles> configs;
  for (const HubFile& file : files) {
    const Names names = names_in(file.name);
    if (names.size() != 3 || !file.name.ends_with(".parquet")) continue;
    const std::string& split = names[1];
    configs[names[0]][split.starts_with(kPartial) ? split.substr(kPartial.size()) : split]
        .push_back(file);
  }
  for (auto& [config, splits] : configs) {
    for (auto& [split, of_split] : splits) {
      std::sort(of_split.begin(), of_split.end(),
                [](const HubFile& a, const HubFile& b) { return a.name < b.name; });
    }
  }
  return configs;
}

}  // namespace ropewalk
