#pragma once

#include <any>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/moments/files/kept_fields.h"

namespace ropewalk {

// A capture whose heads are analysed; it outlives what reads it.
struct AnalyzedCapture {
  const CaptureMoments& moments;
  const std::vector<int64_t>& blocks;  // those that hold documents: a case leaves one out each
  const std::string& source;           // for messages
};

// What statistics read of an accumulator: of every stream a part, which its heads find by the
// accumulator's name (StreamInput::part).
class KeptParts {
 public:
  virtual ~KeptParts() = default;
  // Of a row of the streams of a kind, a std::shared_ptr<const T>; empty: it has none.
  virtual std::any part(StreamKind kind, int64_t row) const = 0;
};

// Opens those of a capture that has the accumulator. Throws InputError naming source and tensor
// where its numbers make no sense.
using OpenParts = std::unique_ptr<KeptParts> (*)(const AnalyzedCapture& capture);
struct PartsReader {
  std::string accumulator;  // its name
  OpenParts open = nullptr;
};

// Of all accumulators: parts_of::NAME of each, one file each, then added ones.
const std::vector<PartsReader>& parts_readers();

// Adds that of an accumulator of somebody's own for as long as this lives.
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

// A row of a field, in all and without each block: [replicates, width]. NaN without blocks where
// the file has none.
at::Tensor field_replicates(const KeptFields& kept, const std::string& field, int64_t row,
                            const std::vector<int64_t>& blocks);
// Tokens of the capture, in all and without each block: [replicates].
at::Tensor token_replicates(const AnalyzedCapture& capture);

}  // namespace ropewalk
