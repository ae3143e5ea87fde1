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

// Raised when the code changes second moments, as the forward pass does: then older captures are
// measured again. What else captures keep has numbers of its own (KeepRecord), which were this one
// in captures of earlier editions.
inline constexpr int64_t kNumerics = 7;

// Every n-th document, starting with the i-th, i from 0: one job of an array.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;

  bool operator==(const Shard&) const = default;
};

// What a capture is called and where it comes from. None of it decides a number; a run brings it up
// to date in the capture.json of what it reuses.
struct CaptureNames {
  std::string model;
  std::string label;
  std::string hub;             // "org/name@COMMIT"
  std::string stated_weights;  // digest of what the Hub states about the weights' files
  std::string tokenizer;
  int64_t heads_seed = 0;
  int64_t skipped_short = 0;
  int64_t skipped_empty = 0;
  // Where it was measured from, for who runs the same model once more (`ablate`); in capture.json
  // alone, as the numbers are the same wherever a model lies. Empty texts: as by default.
  struct Source {
    std::string model;             // its folder; empty: on the Hub
    std::string tokenizer;         // as it was named
    std::string field;             // of the corpus, with the text or tokens
    std::string id;                // likewise
    Json config = Json::object();  // overrides of config.json
  };
  std::optional<Source> source;
};

// What a capture measured and how: capture.json, and the metadata of a moments file
// (docs/formats.md).
struct CaptureInfo : CaptureNames {
  // What decides the numbers, beside the documents.
  int64_t numerics = kNumerics;
  std::string weights;       // digest of every tensor that q and k need, or "random:SEED"
  std::string head_weights;  // of what the loss needs beside those; empty: there is none
  ModelDescription config;
  std::string dtype;             // of the forward pass
  std::string device;            // "cpu" or "cuda"
  int64_t context = 0;           // tokens per document at most
  std::string point;             // "post-rope"; empty: no vectors were taken
  std::vector<QueryHead> heads;  // in the order sampled
  int64_t blocks = 0;
  std::optional<int64_t> random;  // seed of fresh weights
  struct Vectors {
    std::string sampling;
    double rate = 0;
    int64_t bucket_size = 0;
    std::string ids;  // digest of the documents' ids, which the files hold
  };
  KeepRecords accumulators;         // beside second moments: accumulators, and what is of documents
  std::optional<Vectors> vectors;   // where they were written
  int64_t texts = 0;                // that documents were cut from, where they were
  std::string chunk_blocks_digest;  // digest of the blocks that the pieces were dealt to
  int64_t texts_with_id = 0;        // of these documents: whose texts have ids

  // Which documents were read.
  int64_t documents = 0;
  int64_t tokens = 0;
  std::string corpus;  // documents_digest

  // How it came about.
  std::string ropewalk;  // version that wrote it
  std::optional<Shard> shard;
  std::string full_corpus_digest;  // of a shard: digest of all documents that it is a part of;
                                   // empty: unknown
  double seconds = 0;              // of measuring; 0: unknown
  // In capture.json: what tells whether files are as they were written. Empty: unknown.
  std::string moments;  // hash of the moments file
  struct Files {
    int64_t bytes = 0;
    std::string hash;
  };
  std::optional<Files> vector_files;  // all of them together

  // Whether it holds numbers of documents alone: no vectors were taken.
  bool values_alone() const { return point.empty() && heads.empty() && !accumulators.empty(); }

  CaptureNames& names() { return *this; }
  const CaptureNames& names() const { return *this; }

  Json to_json() const;
  // What capture.json says: the same, and where it was measured from.
  Json described() const;
  // Throws InputError naming `source` and the key. What a file of the first edition lacks stays at
  // its default.
  static CaptureInfo from_json(const Json& json, const std::string& source);

  // Everything that decides the numbers but the documents.
  Json identity() const;
};

// An identity as it is written now, of one that an earlier edition wrote.
Json upgraded_identity(Json identity);

// What differs between two identities, in words: "context: 4096 → 8192". Empty: nothing.
std::string describe_difference(const Json& before, const Json& now);

// Throws InputError naming the field where two captures are not of one model measured in one way,
// so that their moments cannot be added. What they are called does not count.
void require_mergeable(const CaptureInfo& first, const std::string& first_name,
                       const CaptureInfo& other, const std::string& other_name);

}  // namespace ropewalk
