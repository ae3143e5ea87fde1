#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/model/config/model_description.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/keep_options.h"

namespace ropewalk {

inline constexpr int kMomentsFormat = 1;

// Raised when the code changes second moments, as a change of the forward pass does: older captures
// are then measured again. Other contents of captures have version numbers of their own
// (KeepRecord); in captures of earlier editions they had this one.
inline constexpr int64_t kNumerics = 7;

// Every n-th document, starting with the i-th, i from 0: one job of an array.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;

  bool operator==(const Shard&) const = default;
};

// The names and origin of a capture. No number depends on them, and a run updates them in the
// capture.json of the captures that it reuses.
struct CaptureNames {
  std::string model;
  std::string label;
  std::string hub;             // "org/name@COMMIT"
  std::string stated_weights;  // digest of what the Hub states about the weights' files
  std::string tokenizer;
  int64_t heads_seed = 0;
  int64_t skipped_short = 0;
  int64_t skipped_empty = 0;
  // The arguments of the capture, for whoever runs the same model again (`ablate`). They are only
  // in capture.json, because the numbers are the same wherever a model is. Empty texts mean the
  // default.
  struct Source {
    std::string model;             // its folder; empty: on the Hub
    std::string tokenizer;         // as the user named it
    std::string field;             // field of the corpus with the text or tokens
    std::string id;                // field of the corpus with the ids
    Json config = Json::object();  // overrides of config.json
  };
  std::optional<Source> source;
};

// What a capture measured and how: the contents of capture.json, and the metadata of a moments file
// (docs/formats.md).
struct CaptureInfo : CaptureNames {
  // The library that ran the model, where it was not our own pass, and its version and torch's.
  struct Backend {
    std::string name;
    std::string version;
    std::string torch;

    Json to_json() const;
    // "transformers 5.22.2 with torch 2.13.0"
    std::string text() const;
  };

  // The settings that decide the numbers, besides the documents.
  int64_t numerics = kNumerics;
  std::string weights;  // digest of every tensor that q and k need, or "random:SEED"
  // Digest of the further tensors that the loss needs; empty: not measured.
  std::string head_weights;
  ModelDescription config;
  std::string dtype;   // of the forward pass
  std::string device;  // "cpu" or "cuda"
  std::optional<Backend> backend;
  int64_t context = 0;           // most tokens per document
  std::string point;             // "post-rope"; empty: no vectors were captured
  std::vector<QueryHead> heads;  // in the order of sampling
  int64_t blocks = 0;
  std::optional<int64_t> random;  // seed of fresh weights
  struct Vectors {
    std::string sampling;
    double rate = 0;
    int64_t bucket_size = 0;
    std::string ids;  // digest of the documents' ids, which the files hold
  };
  // What is kept besides second moments: accumulators and values per document.
  KeepRecords accumulators;
  std::optional<Vectors> vectors;  // set where vectors were written
  int64_t texts = 0;  // number of texts that documents were cut from; 0: they were not cut
  std::string chunk_blocks_digest;  // digest of the block of each piece
  int64_t texts_with_id = 0;        // number of documents whose texts have ids

  // The documents that were read.
  int64_t documents = 0;
  int64_t tokens = 0;
  std::string corpus;  // documents_digest

  // The circumstances of the capture.
  std::string ropewalk;  // version that wrote the capture
  std::optional<Shard> shard;
  // Of a shard: digest of the documents of all shards; empty: unknown.
  std::string full_corpus_digest;
  double seconds = 0;  // of measuring; 0: unknown
  // Only in capture.json: what tells whether files are as they were written. Empty: unknown.
  std::string moments;  // hash of the moments file
  struct Files {
    int64_t bytes = 0;
    std::string hash;
  };
  std::optional<Files> vector_files;  // all of them together

  // Whether it holds only values per document, because no vectors were captured.
  bool values_alone() const { return point.empty() && heads.empty() && !accumulators.empty(); }

  CaptureNames& names() { return *this; }
  const CaptureNames& names() const { return *this; }

  Json to_json() const;
  // The contents of capture.json: to_json() with `source`.
  Json described() const;
  // Throws InputError naming `source` and the key. Fields that a file of the first edition lacks
  // keep their defaults.
  static CaptureInfo from_json(const Json& json, const std::string& source);

  // Everything that decides the numbers except the documents.
  Json identity() const;
};

// Brings an identity that an earlier edition wrote into the current form.
Json upgraded_identity(Json identity);

// Throws InputError naming the field where two captures do not belong to one model measured in one
// way, so that their moments cannot be added. Their names do not matter.
void require_mergeable(const CaptureInfo& first, const std::string& first_name,
                       const CaptureInfo& other, const std::string& other_name);

}  // namespace ropewalk
