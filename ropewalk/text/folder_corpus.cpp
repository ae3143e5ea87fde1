#include <algorithm>
#include <set>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The files of a folder and of the folders in it.
class FolderListing {
 public:
  explicit FolderListing(const fs::path& folder) : root_(folder) {
    walk(folder);
    std::ranges::sort(files_);
    std::ranges::sort(others_);
  }

  // The files that are a corpus, by their path within the folder.
  const std::vector<std::pair<std::string, fs::path>>& files() const { return files_; }
  // Other files, for messages.
  const std::vector<std::string>& others() const { return others_; }

 private:
  void walk(const fs::path& folder) {
    throw_if_interrupted();
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    // Links may form circles, so each folder is read once.
    if (!error && !walked_.insert(real).second) return;
    std::vector<fs::path> names;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      names.push_back(it->path());
    }
    if (error)
      throw SystemError("{}: cannot list the folder: {}", folder.string(), error.message());
    std::ranges::sort(names);
    for (const fs::path& path : names) add(path);
  }

  void add(const fs::path& path) {
    std::error_code ignored;
    const fs::file_type type = fs::status(path, ignored).type();
    const bool hidden = path.filename().string().starts_with('.');
    // A broken link counts as a file: it is missing text, and opening it will say so.
    const bool file = type == fs::file_type::regular || type == fs::file_type::not_found;
    std::string name = path.lexically_relative(root_).generic_string();
    if (!hidden && type == fs::file_type::directory) {
      walk(path);
    } else if (!hidden && file && corpus_kind(path)) {
      files_.emplace_back(std::move(name), path);
    } else {
      others_.push_back(std::move(name));
    }
  }

  fs::path root_;
  std::set<fs::path> walked_;
  std::vector<std::pair<std::string, fs::path>> files_;
  std::vector<std::string> others_;
};

// Only one reader is open at a time.
class ConcatenatedCorpora : public CorpusReader {
 public:
  ConcatenatedCorpora(std::string name, std::vector<OpenCorpus> parts)
      : name_(std::move(name)), parts_(std::move(parts)) {}

  std::string name() const override { return name_; }

  std::optional<CorpusEntry> next() override {
    for (;;) {
      if (part_) {
        if (auto entry = part_->next()) return entry;
        part_.reset();
      }
      if (next_ == parts_.size()) return std::nullopt;
      throw_if_interrupted();
      part_ = parts_[next_++]();
    }
  }

 private:
  std::string name_;
  std::vector<OpenCorpus> parts_;
  size_t next_ = 0;
  std::unique_ptr<CorpusReader> part_;
};

}  // namespace

std::unique_ptr<CorpusReader> open_concatenated(std::string name, std::vector<OpenCorpus> parts) {
  return std::make_unique<ConcatenatedCorpora>(std::move(name), std::move(parts));
}

std::unique_ptr<CorpusReader> open_folder_corpus(const fs::path& folder,
                                                 const CorpusOptions& options) {
  const FolderListing listing(folder);
  if (listing.files().empty()) {
    throw InputError("{}: the folder has no {} file; it has {}", folder.string(), kCorpusKinds,
                     quoted_list(listing.others()));
  }
  std::vector<OpenCorpus> files;
  bool fields = false;
  for (const auto& [name, path] : listing.files()) {
    const CorpusKind kind = *corpus_kind(path);
    fields = fields || kind.has_fields();
    files.emplace_back([path = path, kind, options] {
      return open_corpus_file(path, kind, kind.has_fields() ? options : CorpusOptions());
    });
  }
  if (!fields) refuse_fields(folder, options);
  return open_concatenated(folder.string(), std::move(files));
}

}  // namespace ropewalk
