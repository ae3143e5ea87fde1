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

// "i/n"; throws UsageError on anything else.
Shard parse_shard(const std::string& text);

struct CaptureOptions {
  ModelOptions model;
  CorpusSource corpus;
  std::filesystem::path out;
  std::optional<std::filesystem::path> tokenizer;  // default: beside the weights
  std::string label;                               // default: the model folder's name
  bool chunk = false;                 // cut texts into documents of the context's length
  std::optional<int64_t> documents;   // default: all that are long enough
  std::optional<int64_t> min_tokens;  // default: the context
  int64_t blocks = kDefaultBlocks;    // of documents, for standard errors
  Shard shard;
  KeepOptions keep;                    // beside moments after RoPE
  std::optional<std::string> vectors;  // also write vectors: uniform, log-uniform or all
  double rate = 1;                     // expected tokens per bucket
  int64_t bucket_size = 0;             // tokens; 0: context / 16
  std::string title = "capture";       // of the progress bar
  // Where to save what was gathered so far, now and then, and to go on from where it is there.
  // Vectors cannot go on: with them a capture starts anew.
  std::optional<std::filesystem::path> state;
};

// The part of it that comes first: opens the model, calls `check`, then reads the documents. With
// several processes all get them. Collective.
void open_and_read(const CaptureOptions& options, OpenModel& model, DocumentSet& documents,
                   const std::function<void(const OpenModel& model)>& check);

// Several processes (options.model.processes) read a part each, and the first one writes what all
// have read; everything below is collective then.

// Runs the corpus through the model and writes `out`: moments.safetensors, capture.json and, where
// asked for, vectors/. `out` appears only when everything is in it.
void capture(const CaptureOptions& options);

struct CaptureMoments;

// What was measured and is not written yet.
class MeasuredCapture {
 public:
  virtual ~MeasuredCapture() = default;
  // Of memory that it holds.
  virtual int64_t bytes() const = 0;
  // Writes `out`, and returns what it says of itself; once. Nothing that happens elsewhere
  // meanwhile matters to it, so that another thread may do it.
  virtual CaptureInfo write() = 0;
  // What a reader of it will find, also while it is being written; only where all of it is in
  // memory.
  virtual bool in_memory() const = 0;
  virtual CaptureMoments moments() const = 0;
};

// The part of `capture` that follows opening and reading, up to writing; null in processes other
// than the first. Where the budget has no room for another capture that is being written, it waits
// for that first.
std::unique_ptr<MeasuredCapture> measure_capture(const CaptureOptions& options,
                                                 const OpenModel& model,
                                                 const DocumentSet& documents,
                                                 const PendingWrite& pending = {});

// The part of `capture` that follows opening and reading, for a study whose checkpoints share
// documents. `out` must not exist.
void capture_documents(const CaptureOptions& options, const OpenModel& model,
                       const DocumentSet& documents);

// Which tokens' vectors are written. Throws UsageError where that is not said right.
TokenSampler make_sampler(const CaptureOptions& options, const OpenModel& model);

// One digest of the documents' ids, which are written beside vectors.
std::string ids_digest(std::span<const Document> documents);

// What it collects of these documents; `scratch` is left to the capture.
CollectorOptions collector_options(const CaptureOptions& options, const OpenModel& model,
                                   std::span<const Document> documents);

// What such a capture will say of itself; the digest of its weights is not known before they are
// read.
CaptureInfo describe_capture(const CaptureOptions& options, const OpenModel& model,
                             const DocumentSet& documents);

}  // namespace ropewalk
