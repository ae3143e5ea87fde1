#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/kernels/token_set.h"
#include "ropewalk/model/config/rotary_pairs.h"
#include "ropewalk/model/tap.h"
#include "ropewalk/moments/block_counts.h"
#include "ropewalk/moments/keep_options.h"
#include "ropewalk/moments/stream_key.h"

namespace ropewalk {

struct ModelConfig;

// The facts about a capture that accumulators need.
struct CaptureShape {
  int64_t head_dim = 0;
  std::string point = kPostRope;
  KeepOptions keep = keep_nothing();
  int64_t context = 0;    // most tokens per document; 0: unknown
  int64_t documents = 0;  // the last document's index, plus 1; 0: unknown
  // For a capture that is read: the versions of its accumulators' numbers, by name. An accumulator
  // that is missing has its current version (Accumulator::numerics).
  std::map<std::string, int64_t> numerics{};
};

// A layer's streams: the chosen query heads and the KV heads that they read, both sorted.
struct LayerStreams {
  std::vector<int64_t> q_heads;
  std::vector<int64_t> kv_heads;

  const std::vector<int64_t>& heads(StreamKind kind) const {
    return kind == StreamKind::query ? q_heads : kv_heads;
  }
};

// Numbers that an accumulator keeps for every stream of a kind in every block of documents,
// float64. A file holds their totals too, and rounds those of blocks to float32 unless they are
// `exact`.
struct KeptField {
  std::string name;
  StreamKind kind = StreamKind::query;
  int64_t width = 0;  // number of numbers
  bool exact = false;
  // False: one set of numbers for all documents. It joins by addition: combine() gets it with one
  // block, and gets no numbers of it with the others.
  bool blocks = true;
  // For fields without blocks: a file stores them in the narrowest type that holds all numbers
  // exactly, with room only for documents that were read.
  bool compact = false;
};

// One block, or the total, of an accumulator's fields, in their order.
struct BlockFields {
  std::vector<at::Tensor> numbers;  // [streams, width]; views that write through
  TokenSet tokens;                  // the tokens of the block
};

// The target of a document's numbers.
struct BlockTarget {
  BlockFields block;
  const LayerStreams& streams;
  RotaryPairs pairs{};              // of the layer
  int64_t context = 0;              // as in CaptureShape
  int64_t block_no = 0;             // number of the block
  std::optional<int64_t> window{};  // of a layer whose attention slides
  KeepOptions keep = keep_nothing();
  // Only on a GPU: the heads, int32, and per stream (of queries, then of keys) the first document
  // that is not finite, int64.
  at::Tensor q_heads{};
  at::Tensor kv_heads{};
  at::Tensor bad{};
};

// A kind of statistics of vectors, updated document by document and joined over documents
// (CONTRIBUTING.md shows how to add one). Scratch memory, saved states, files, merging, processes
// and GPUs work on its fields, whatever they mean.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // The fields in files are NAME.query.FIELD and NAME.key.FIELD.
  virtual std::string name() const = 0;
  virtual std::vector<Tap> taps(const CaptureShape& shape) const = 0;
  // Empty where such a capture does not have the accumulator.
  virtual std::vector<KeptField> fields(const CaptureShape& shape) const = 0;
  // Adds a document's vectors at one of its taps' points. The numbers are on the device of the
  // vectors. Throws InputError on values that are not finite; on a GPU it records them instead,
  // without waiting.
  virtual void add(const TappedVectors& taken, const BlockTarget& to) const = 0;
  // The version of its numbers, from 1, raised when a change of the code changes them. Numbers that
  // captures hold of another version are then measured again, by themselves, where they are wanted.
  virtual int64_t numerics() const = 0;
  // Whether fields() describes the numbers of an earlier version, so that analysis reads them as
  // they are.
  virtual bool reads(int64_t earlier) const { return earlier == numerics(); }
  // Joins a part, on the CPU, to the whole in place.
  virtual void combine(const BlockFields& whole, const BlockFields& part) const = 0;
  // The most bytes of the device that add() holds at once.
  virtual int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                            const at::Device& device) const = 0;
};

// All accumulators: those in accumulators/, then added ones. A capture feeds those that have
// fields.
const std::vector<const Accumulator*>& accumulators();

// Adds a user's accumulator for the lifetime of this object. Not during a capture.
class AddedAccumulator {
 public:
  explicit AddedAccumulator(const Accumulator& accumulator);
  ~AddedAccumulator();
  AddedAccumulator(const AddedAccumulator&) = delete;
  AddedAccumulator& operator=(const AddedAccumulator&) = delete;

 private:
  const Accumulator* accumulator_;
};

// The name of a field in files, for its totals or its blocks.
std::string total_name(const Accumulator& accumulator, const KeptField& field);
std::string blocks_name(const Accumulator& accumulator, const KeptField& field);
const char* kind_name(StreamKind kind);  // "query", "key"

// The accumulators of such a capture besides the second moments.
KeepRecords kept_records(const CaptureShape& shape);

// The number of numbers in all of a field's blocks, for one stream.
int64_t field_size(const KeptField& field, int64_t blocks);

// Block b of fields [streams, blocks, width]; of a field without blocks, [streams, 1, width], all
// of it.
BlockFields block_of(const std::vector<at::Tensor>& fields, int64_t block, const TokenSet& tokens);

// Joins each block of a part to the same block of the whole, in place; both float64.
void combine_blocks(const Accumulator& accumulator, const std::vector<at::Tensor>& whole,
                    const BlockCounts& whole_counts, const std::vector<at::Tensor>& part,
                    const BlockCounts& part_counts);

// The fields of all blocks together; for a field without blocks, a view of it.
std::vector<at::Tensor> total_of(const Accumulator& accumulator,
                                 const std::vector<at::Tensor>& blocks, const BlockCounts& counts);

}  // namespace ropewalk
