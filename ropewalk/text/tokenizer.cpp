#include "ropewalk/text/tokenizer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/checkpoint/tokenizer_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using FailureKind = CompanionFailure::FailureKind;
constexpr int64_t kLargestFile = int64_t{256} << 20;

// The time limit of a text: a minute, or a hundred times what tokenizers of published models take.
std::chrono::milliseconds time_for(size_t bytes) {
  constexpr size_t kBytesPerSecond = 200'000;
  return std::chrono::seconds(60 + bytes / kBytesPerSecond);
}

size_t size_of(const std::vector<std::string>& texts) {
  return std::accumulate(texts.begin(), texts.end(), size_t{0},
                         [](size_t sum, const std::string& text) { return sum + text.size(); });
}

std::vector<int32_t> numbers(const std::string& bytes) {
  std::vector<int32_t> values(bytes.size() / sizeof(int32_t));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(int32_t));
  return values;
}

std::vector<Tokenizer::Outcome> outcomes_of(const CompanionMessage& answer, size_t texts) {
  const auto ids = numbers(answer.array("ids")), counts = numbers(answer.array("counts")),
             prefix = numbers(answer.array("prefix")), suffix = numbers(answer.array("suffix"));
  std::vector<Tokenizer::Outcome> outcomes;
  std::span<const int32_t> rest(ids);
  bool good = counts.size() == texts && prefix.size() == texts && suffix.size() == texts;
  const auto take = [&](std::vector<int32_t>& into, int64_t count) {
    good = good && count >= 0 && count <= static_cast<int64_t>(rest.size());
    if (!good) return;
    into.assign(rest.begin(), rest.begin() + count);
    rest = rest.subspan(static_cast<size_t>(count));
  };
  for (size_t i = 0; good && i < texts; ++i) {
    Tokenizer::Encoding& encoding = outcomes.emplace_back().encoding;
    take(encoding.prefix, prefix[i]);
    take(encoding.body, int64_t{counts[i]} - prefix[i] - suffix[i]);
    take(encoding.suffix, suffix[i]);
  }
  if (!good || !rest.empty()) throw SystemError("the companion's answer does not fit its request");
  return outcomes;
}

void add_number(std::string& bytes, size_t number) {
  const auto value = static_cast<int32_t>(number);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::vector<Tokenizer::RunText> run_texts(const CompanionMessage& answer, size_t runs) {
  const std::string& bytes = answer.array("sizes");
  std::vector<int64_t> sizes(bytes.size() / sizeof(int64_t));
  std::memcpy(sizes.data(), bytes.data(), sizes.size() * sizeof(int64_t));
  std::string_view rest = answer.array("text");
  std::vector<Tokenizer::RunText> texts(sizes.size() == 3 * runs ? runs : 0);
  bool good = texts.size() == runs;
  const auto take = [&](std::string& into, int64_t size) {
    good = good && size >= 0 && size <= static_cast<int64_t>(rest.size());
    if (!good) return;
    into = rest.substr(0, static_cast<size_t>(size));
    rest.remove_prefix(static_cast<size_t>(size));
  };
  for (size_t i = 0; i < texts.size(); ++i) {
    take(texts[i].before, sizes[3 * i]);
    take(texts[i].token, sizes[3 * i + 1]);
    take(texts[i].after, sizes[3 * i + 2]);
  }
  if (!good || !rest.empty()) throw SystemError("the companion's answer does not fit its request");
  return texts;
}

constexpr const char* kAdvice =
    "install it with `python -m pip install tokenizers`, or name a Python that has it in "
    "ROPEWALK_PYTHON; corpora of token ids need none";

// Rethrows failures that are the fault of neither the tokenizer nor the text.
[[noreturn]] void throw_system_error(const CompanionFailure& failure) {
  if (failure.how() == FailureKind::cannot_run) {
    throw SystemError("{}; text needs a Python with the package tokenizers: {}", failure.what(),
                      kAdvice);
  }
  if (failure.how() == FailureKind::missing) {
    throw SystemError("text needs the package tokenizers: {}; {}", failure.what(), kAdvice);
  }
  throw SystemError("text cannot be tokenized: {}", failure.what());
}

}  // namespace

struct Tokenizer::Impl {
  std::string source;  // for messages
  std::string file;    // the bytes of tokenizer.json; empty where `source` is a folder
  std::string digest;
  std::string key;         // names the tokenizer in the companion
  int64_t generation = 0;  // generation of the companion that has loaded it

  void load() {
    Companion& companion = shared_companion();
    if (generation != 0 && generation == companion.generation()) return;
    static std::atomic<int64_t> next = 0;
    key = std::to_string(++next);
    CompanionMessage request{{{"do", "load"}, {"tokenizer", key}, {"threads", core_limit()}}, {}};
    if (file.empty()) {
      request.words["folder"] = source;
    } else {
      request.arrays["file"] = file;
    }
    try {
      const Json answer = companion.ask("tokens", std::move(request), time_for(file.size())).words;
      generation = companion.generation();
      if (const auto dropout = answer.at("dropout").get<double>(); dropout != 0) {
        throw InputError(
            "{}: model.dropout is {}, expected null or 0: with dropout, token ids change from one "
            "reading to the next",
            source, dropout);
      }
      if (file.empty()) digest = answer.at("digest").get<std::string>();
    } catch (const CompanionFailure& failure) {
      refuse(failure);
    }
  }

  CompanionMessage ask(const char* what, CompanionMessage request = {}) {
    load();
    request.words = {{"do", what}, {"tokenizer", key}};
    try {
      return shared_companion().ask("tokens", std::move(request), time_for(file.size()));
    } catch (const CompanionFailure& failure) {
      throw_system_error(failure);
    }
  }

  [[noreturn]] void refuse(const CompanionFailure& failure) const {
    switch (failure.how()) {
      case FailureKind::late:
        throw InputError("{}: the tokenizers library takes too long to read it", source);
      case FailureKind::memory:
        throw InputError("{}: the tokenizers library takes too much memory to read it", source);
      case FailureKind::refused:
        throw InputError("{}: the {} library cannot read it: {}", source,
                         file.empty() ? "transformers" : "tokenizers", failure.what());
      case FailureKind::missing:
        if (!file.empty()) break;
        throw InputError(
            "{}: holds no tokenizer.json, and reading other files needs transformers: {}; {}",
            source, failure.what(), kMakeTokenizerJson);
      default:
        break;
    }
    throw_system_error(failure);
  }

  void send(Batch& batch) {
    CompanionMessage request{{{"do", "encode"}, {"tokenizer", key}}, {}};
    std::string& sizes = request.arrays["sizes"];
    std::string& text = request.arrays["text"];
    text.reserve(size_of(batch.texts));
    for (const std::string& one : batch.texts) {
      const auto size = static_cast<int64_t>(one.size());
      sizes.append(reinterpret_cast<const char*>(&size), sizeof size);
      text += one;
    }
    batch.ticket = shared_companion().send("tokens", std::move(request));
  }

  // Tokenises texts one after another, up to the first that fails.
  std::vector<Outcome> one_by_one(Batch& batch) {
    std::vector<Outcome> outcomes;
    for (std::string& text : batch.texts) {
      Batch one{{std::move(text)}, nullptr};
      load();
      send(one);
      outcomes.push_back(std::move(receive(one).front()));
      if (!outcomes.back().problem.empty()) break;
    }
    return outcomes;
  }

  std::vector<Outcome> receive(Batch& batch) {
    constexpr int kMostTries = 3;
    for (int attempt = 1;; ++attempt) {
      const size_t bytes = size_of(batch.texts);
      try {
        return outcomes_of(shared_companion().receive(batch.ticket, time_for(bytes)),
                           batch.texts.size());
      } catch (const CompanionFailure& failure) {
        const FailureKind how = failure.how();
        const bool alone = batch.texts.size() == 1;
        // Another batch may have ended the companion.
        if ((how == FailureKind::dropped && attempt < kMostTries) ||
            (how == FailureKind::memory && alone && attempt == 1)) {
          load();
          send(batch);
          continue;
        }
        if (how != FailureKind::late && how != FailureKind::memory && how != FailureKind::refused) {
          throw_system_error(failure);
        }
        if (!alone) return one_by_one(batch);
        return {{{}, problem(failure, bytes)}};
      }
    }
  }

  static std::string problem(const CompanionFailure& failure, size_t bytes) {
    switch (failure.how()) {
      case FailureKind::late:
        return fmt::format("a text of {} bytes takes more than {} s in the tokenizer", bytes,
                           time_for(bytes).count() / 1000);
      case FailureKind::memory:
        return fmt::format(
            "a text of {} bytes needs more than 64 times as many bytes of memory in the tokenizer",
            bytes);
      default:
        return fmt::format("the tokenizer fails: {}", failure.what());
    }
  }
};

Tokenizer Tokenizer::from_file(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    if (path.extension() == ".model") return from_file(path.parent_path());
    return from_json(read_text_file(path, kLargestFile), path.string());
  }
  if (fs::exists(path / kTokenizerFile, ignored)) return from_file(path / kTokenizerFile);
  if (!holds_tokenizer(path)) {
    throw InputError("{}: holds no tokenizer.json; {}", path.string(), kMakeTokenizerJson);
  }
  auto impl = std::make_unique<Impl>();
  impl->source = fs::absolute(path).string();
  return Tokenizer(std::move(impl));
}

Tokenizer Tokenizer::from_json(std::string text, const std::string& source) {
  if (text.empty()) throw InputError("{}: is empty", source);
  auto impl = std::make_unique<Impl>();
  impl->source = source;
  impl->digest = sha256_hex(text);
  impl->file = std::move(text);
  return Tokenizer(std::move(impl));
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Tokenizer::Batch Tokenizer::send(std::vector<std::string> texts) const {
  Batch batch{std::move(texts), nullptr};
  impl_->load();
  impl_->send(batch);
  return batch;
}

std::vector<Tokenizer::Outcome> Tokenizer::receive(Batch batch) const {
  return impl_->receive(batch);
}

std::vector<Tokenizer::RunText> Tokenizer::texts(const std::vector<Run>& runs) const {
  CompanionMessage request;
  auto &ids = request.arrays["ids"], &counts = request.arrays["counts"],
       &own = request.arrays["own"];
  for (const Run& run : runs) {
    for (const int32_t id : run.ids) add_number(ids, static_cast<size_t>(id));
    add_number(counts, run.ids.size());
    add_number(own, static_cast<size_t>(run.own));
  }
  return run_texts(impl_->ask("texts", std::move(request)), runs.size());
}

Tokenizer::Words Tokenizer::words() const {
  const CompanionMessage answer = impl_->ask("words");
  return {numbers(answer.array("ids")), numbers(answer.array("prefix"))};
}

const std::string& Tokenizer::digest() const {
  if (impl_->digest.empty()) impl_->load();
  return impl_->digest;
}

}  // namespace ropewalk
