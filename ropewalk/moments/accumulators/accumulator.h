#pragma once

#include <cstdint>
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

// What accumulators need to know of a capture.
struct CaptureShape {
  int64_t head_dim = 0;
  std::string point = kPostRope;
  KeepOptions keep = keep_nothing();
  int64_t context = 0;    // tokens per document at most; 0: unknown
  int64_t documents = 0;  // the last one's index, plus 1; 0: unknown
};

// A layer's streams: the chosen query heads and the KV heads they read, both sorted.
struct LayerStreams {
  std::vector<int64_t> q_heads;
  std::vector<int64_t> kv_heads;

  const std::vector<int64_t>& heads(StreamKind kind) const {
    return kind == StreamKind::query ? q_heads : kv_heads;
  }
};

// Numbers that an accumulator keeps of every stream of a kind in every block of documents, float64.
// A file has their totals too, and rounds those of blocks to float32 unless they are `exact`.
struct KeptField {
  std::string name;
  StreamKind kind = StreamKind::query;
  int64_t width = 0;  // numbers
  bool exact = false;
  // Else one set of numbers for all documents. It joins by addition: combine() gets it with one
  // block, and without any number with the others.
  bool blocks = true;
  // Without blocks: a file has it in the narrowest type of numbers that holds them all as they are,
  // and room for documents that were read alone.
  bool compact = false;
};

// One block, or the total, of an accumulator's fields, in their order.
struct BlockFields {
  std::vector<at::Tensor> numbers;  // [streams, width]; views that write through
  TokenSet tokens;                  // that they hold
};

// Where a document goes.
struct BlockTarget {
  BlockFields block;
  const LayerStreams& streams;
  RotaryPairs pairs{};   // of the layer
  int64_t context = 0;   // as in CaptureShape
  int64_t block_no = 0;  // which block it is
  // On a GPU alone: the heads, int32, and by stream (of queries, then of keys) the first document
  // that is not finite, int64.
  at::Tensor q_heads{};
  at::Tensor kv_heads{};
  at::Tensor bad{};
};

// Something that is kept of vectors, a document at a time, and joined over documents
// (CONTRIBUTING.md shows how to add one). Scratch memory, saved states, files, merging, processes
// and GPUs work on its fields, whatever they mean.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // In files its fields are NAME.query.FIELD and NAME.key.FIELD.
  virtual std::string name() const = 0;
  virtual std::vector<Tap> taps(const CaptureShape& shape) const = 0;
  // None where such a capture does not have it.
  virtual std::vector<KeptField> fields(const CaptureShape& shape) const = 0;
  // Adds a document's vectors at one of its taps' points. Numbers lie where the vectors do. Throws
  // InputError on what is not finite; on a GPU notes it instead, and waits for nothing.
  virtual void add(const TappedVectors& taken, const BlockTarget& to) const = 0;
  // Version of its numbers, from 1: raised when a change of the code changes them. What captures
  // kept of another one is then measured anew, alone, where it is asked for.
  virtual int64_t numerics() const = 0;
  // Joins a part, on the CPU, to the whole in place.
  virtual void combine(const BlockFields& whole, const BlockFields& part) const = 0;
  // Bytes of the device that add() may hold at once.
  virtual int64_t workspace(const ModelConfig& config, int64_t tokens, at::ScalarType dtype,
                            const at::Device& device) const = 0;
};

// All accumulators: those in accumulators/, then added ones. A capture feeds those with fields.
const std::vector<const Accumulator*>& accumulators();

// Adds an accumulator of somebody's own for as long as this lives. Not during a capture.
class AddedAccumulator {
 public:
  explicit AddedAccumulator(const Accumulator& accumulator);
  ~AddedAccumulator();
  AddedAccumulator(const AddedAccumulator&) = delete;
  AddedAccumulator& operator=(const AddedAccumulator&) = delete;

 private:
  const Accumulator* accumulator_;
};

// The name of a field in files, of its totals or its blocks.
std::string total_name(const Accumulator& accumulator, const KeptField& field);
std::string blocks_name(const Accumulator& accumulator, const KeptField& field);
const char* kind_name(StreamKind kind);  // "query", "key"

// Those that such a capture has beside the second moments.
KeepRecords kept_records(const CaptureShape& shape);

// Numbers of all a field's blocks, of one stream.
int64_t field_size(const KeptField& field, int64_t blocks);

// Block b of fields [streams, blocks, width]; of fields without blocks, [streams, 1, width], all.
BlockFields block_of(const std::vector<at::Tensor>& fields, int64_t block, const TokenSet& tokens);

// Joins each block of a part to the same block of the whole, in place; both float64.
void combine_blocks(const Accumulator& accumulator, const std::vector<at::Tensor>& whole,
                    const BlockCounts& whole_counts, const std::vector<at::Tensor>& part,
                    const BlockCounts& part_counts);

// The fields of all blocks together; of a field without blocks, a view of it.
std::vector<at::Tensor> total_of(const Accumulator& accumulator,
                                 const std::vector<at::Tensor>& blocks, const BlockCounts& counts);

}  // namespace ropewalk
