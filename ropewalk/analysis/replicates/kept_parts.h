#pragma once

#include <any>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/moments/files/kept_fields.h"

namespace ropewalk {

// A capture whose heads are analysed. It must outlive the objects that read it.
struct AnalyzedCapture {
  const CaptureMoments& moments;
  const std::vector<int64_t>& blocks;  // blocks that hold documents; each replicate leaves out one
  const std::string& source;           // for messages
};

// The data that statistics read from one accumulator: one part per stream, which heads find under
// the accumulator's name (StreamInput::part).
class KeptParts {
 public:
  virtual ~KeptParts() = default;
  // The part of one stream as a std::shared_ptr<const T>; empty: this stream has none. `row` is the
  // stream's row among those of its kind.
  virtual std::any part(StreamKind kind, int64_t row) const = 0;
};

// Opens the parts of a capture that has the accumulator. Throws InputError naming source and tensor
// where its numbers are impossible.
using OpenParts = std::unique_ptr<KeptParts> (*)(const AnalyzedCapture& capture);
struct PartsReader {
  std::string accumulator;  // the accumulator's name
  OpenParts open = nullptr;
};

// One reader per accumulator: parts_of::NAME, each in a file of its own, then added ones.
const std::vector<PartsReader>& parts_readers();

// The parts of one accumulator; null where the capture does not have it.
std::unique_ptr<KeptParts> open_parts(const AnalyzedCapture& capture,
                                      const Accumulator& accumulator);

// Adds the reader for a user's own accumulator, for as long as this object lives.
class AddedPartsReader {
 public:
  explicit AddedPartsReader(const PartsReader& reader);
  ~AddedPartsReader();
  AddedPartsReader(const AddedPartsReader&) = delete;
  AddedPartsReader& operator=(const AddedPartsReader&) = delete;

 private:
  std::string accumulator_;
};

// All parts of a capture.
class CaptureParts {
 public:
  explicit CaptureParts(const AnalyzedCapture& capture);
  void give(std::map<std::string, std::any, std::less<>>& parts, StreamKind kind,
            int64_t row) const;

 private:
  std::map<std::string, std::unique_ptr<KeptParts>> opened_;
};

// One row of a field, in total and without each block: [replicates, width]. The rows without a
// block are NaN where the file keeps no blocks.
at::Tensor field_replicates(const KeptFields& kept, const std::string& field, int64_t row,
                            const std::vector<int64_t>& blocks);
// Tokens of the capture, in total and without each block: [replicates].
at::Tensor token_replicates(const AnalyzedCapture& capture);

}  // namespace ropewalk
