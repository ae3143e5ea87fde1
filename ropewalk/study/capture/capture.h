#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ropewalk/model/tap.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/keep_options.h"
#include "ropewalk/moments/vectors/token_sampler.h"
#include "ropewalk/study/capture/document_measurement.h"
#include "ropewalk/study/source/corpus_source.h"
#include "ropewalk/study/source/open_model.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

struct CollectorOptions;

inline constexpr int64_t kDefaultBlocks = 16;
inline constexpr const char* kCaptureName = "capture.json";

// Parses "i/n"; throws UsageError on anything else.
Shard parse_shard(const std::string& text);

struct CaptureOptions {
  ModelOptions model;
  CorpusSource corpus;
  std::filesystem::path out;
  std::optional<std::filesystem::path> tokenizer;  // default: in the folder of the weights
  std::string label;                               // default: the model folder's name
  bool chunk = false;                 // cut texts into documents of the context's length
  std::optional<int64_t> documents;   // default: all that are long enough
  std::optional<int64_t> min_tokens;  // default: the context
  int64_t blocks = kDefaultBlocks;    // number of blocks of documents, for standard errors
  Shard shard;
  KeepOptions keep;  // what is kept besides moments after RoPE
  // how tokens are sampled whose vectors are also written: uniform, log-uniform or all
  std::optional<std::string> vectors;
  double rate = 1;                // expected number of sampled tokens per bucket
  int64_t bucket_size = 0;        // tokens; 0: context / 16
  std::string title = "capture";  // title of the progress bar
  // The file in which the state of an unfinished capture is saved now and then, and from which it
  // resumes. A capture with vectors cannot resume: it starts again.
  std::optional<std::filesystem::path> state;
};

// The first part of `capture`: opens the model, calls `check`, then reads the documents. With
// several processes, all of them get the documents. Collective.
void open_and_read(const CaptureOptions& options, OpenModel& model, DocumentSet& documents,
                   const std::function<void(const OpenModel& model)>& check);

// Where several processes measure together (options.model.processes), each reads a part of the
// documents, and the first one writes the result; all functions below are then collective.

// Runs the corpus through the model and writes `out`: moments.safetensors, capture.json and, where
// requested, vectors/. `out` appears only when it is complete.
void capture(const CaptureOptions& options);

struct CaptureMoments;

// A capture that is measured but not yet written.
class MeasuredCapture {
 public:
  virtual ~MeasuredCapture() = default;
  // The bytes of memory that it holds.
  virtual int64_t bytes() const = 0;
  // Writes `out` and returns its description; must be called once. Another thread may call it,
  // because it uses no shared state.
  virtual CaptureInfo write() = 0;
  // The moments as a reader of the file will get them; available while the file is being written,
  // but only where all of them are in memory.
  virtual bool in_memory() const = 0;
  virtual CaptureMoments moments() const = 0;
};

// The part of `capture` between reading the documents and writing; null in processes other than the
// first. Where the memory budget has no room for this capture and for another one that is being
// written, it first waits for the other.
std::unique_ptr<MeasuredCapture> measure_capture(const CaptureOptions& options,
                                                 const OpenModel& model,
                                                 const DocumentSet& documents,
                                                 const PendingWrite& pending = {});

// The part of `capture` after opening and reading, for a study whose checkpoints share documents.
// `out` must not exist.
void capture_documents(const CaptureOptions& options, const OpenModel& model,
                       const DocumentSet& documents);

// Selects the tokens whose vectors are written. Throws UsageError where the options are invalid.
TokenSampler make_sampler(const CaptureOptions& options, const OpenModel& model);

// A digest of the documents' ids, which are written with vectors.
std::string ids_digest(std::span<const Document> documents);

// What is collected from these documents; the caller sets `scratch`.
CollectorOptions collector_options(const CaptureOptions& options, const OpenModel& model,
                                   std::span<const Document> documents);

// The description that such a capture will have, except the digest of its weights, which is only
// known after reading them.
CaptureInfo describe_capture(const CaptureOptions& options, const OpenModel& model,
                             const DocumentSet& documents);

}  // namespace ropewalk
