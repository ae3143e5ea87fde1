#include "ropewalk/study/run/study_documents.h"

#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/study/ablation/ablation_job.h"
#include "ropewalk/study/source/corpus_source.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Says whose tokenizer is used where the first checkpoint, which usually has it, could not be
// opened: another tokenizer may give other tokens.
void note_other_tokenizer(const Experiment& experiment, const StudyPlan& plan,
                          const PlannedCheckpoint& has_it) {
  if (experiment.models) return;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      if (entry.label == has_it.checkpoint) return;
      for (const CheckpointFailure& failure : plan.failures) {
        if (entry.random || failure.label != phase.labels_of(entry).front()) continue;
        log::info("using the tokenizer of '{}', because '{}' could not be opened",
                  has_it.checkpoint, entry.label);
        return;
      }
    }
  }
}

std::optional<fs::path> find_tokenizer(const Experiment& experiment, const StudyPlan& plan,
                                       size_t text) {
  const std::optional<std::string>& name = plan.texts[text].tokenizer;
  if (name) {
    const std::string line = experiment.at(plan.texts[text].tokenizer_line);
    const fs::path path = experiment.resolve(*name);
    std::error_code ignored;
    if (fs::exists(path, ignored)) return path;
    if (is_hub_id(*name)) {
      try {
        return locate_tokenizer(*name);
      } catch (const InputError& error) {
        throw InputError("{}: tokenizer '{}' was not found (looked for {}), and {}", line, *name,
                         path.string(), error.what());
      }
    }
    throw InputError(
        "{}: tokenizer '{}' was not found (looked for {}); write a folder, the path of a "
        "tokenizer.json or a Hub model (org/name)",
        line, *name, path.string());
  }
  bool asked = false;  // all revisions on the Hub have the same tokenizer: one request is enough
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    if (planned.text != text) continue;
    const ModelOptions& model = planned.capture.model;
    if (model.hub && !std::exchange(asked, true)) fetch_tokenizer(shared_hub(), *model.hub);
    if (holds_tokenizer(model.model)) {
      note_other_tokenizer(experiment, plan, planned);
      return planned.capture.model.model;
    }
  }
  return std::nullopt;
}

// The location of the experiment's corpus. Throws InputError where the path does not exist.
CorpusSource find_corpus(const Experiment& experiment) {
  const Experiment::Corpus& corpus = experiment.corpus;
  CorpusSource source{corpus.path, corpus.dataset, {corpus.field, corpus.id}};
  if (corpus.dataset || is_hub_uri(corpus.path.string())) return source;
  source.path = experiment.resolve(corpus.path);
  std::error_code ignored;
  if (fs::exists(source.path, ignored)) return source;
  throw InputError("{}: corpus: {} does not exist; paths are relative to the experiment file",
                   experiment.at(corpus.line), source.path.string());
}

// A range of the corpus's documents.
struct DocumentRange {
  std::optional<int64_t> documents;  // default: all
  int64_t after = 0;                 // number of documents before it
};

DocumentSet read_part(const Experiment& experiment, const StudyPlan& plan, size_t text,
                      const DocumentRange& part, std::optional<Dataset>& found) {
  const CorpusSource source = find_corpus(experiment);
  DocumentOptions wanted;
  wanted.context = plan.texts[text].longest_context;
  wanted.min_tokens = experiment.corpus.min_tokens;
  wanted.documents = part.documents;
  wanted.after = part.after;
  wanted.vocabulary_size = static_cast<int32_t>(plan.texts[text].vocabulary);
  wanted.chunk = experiment.corpus.chunk;
  wanted.blocks = experiment.blocks;
  const std::optional<fs::path> tokenizer = find_tokenizer(experiment, plan, text);
  try {
    return read_source_documents(source, tokenizer, wanted, found);
  } catch (const InputError& error) {
    if (!source.dataset && !is_hub_uri(source.path.string())) throw;
    throw InputError("{}: corpus: {}", experiment.at(experiment.corpus.line), error.what());
  }
}

}  // namespace

DocumentSet study_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                            std::optional<Dataset>& found) {
  return read_part(experiment, plan, text, {experiment.corpus.documents, 0}, found);
}

DocumentSet ablate_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                             const DocumentSet& own) {
  const Experiment::Ablate& ablate = *experiment.ablate;
  std::optional<Dataset> ignored;
  try {
    DocumentSet next = read_part(experiment, plan, text,
                                 {ablate.documents, *experiment.corpus.documents}, ignored);
    require_other_documents(make_records(own.documents), "the study", next, "the corpus");
    return next;
  } catch (const InputError& error) {
    throw InputError("{}: ablate: needs documents after the measured ones: {}",
                     experiment.at(ablate.line), error.what());
  }
}

DocumentSet cut_documents(const DocumentSet& documents, int64_t context) {
  DocumentSet cut = documents;
  cut.total_tokens = 0;
  for (Document& document : cut.documents) {
    const auto size = std::min<size_t>(document.tokens.size(), static_cast<size_t>(context));
    if (size < document.tokens.size()) {
      document.tokens.resize(size);
      document.set_digests();
    }
    cut.total_tokens += static_cast<int64_t>(size);
  }
  return cut;
}

}  // namespace ropewalk
