#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ropewalk/model/config/config.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/moments/copied_piece.h"
#include "ropewalk/moments/document_values.h"

namespace ropewalk {

struct Document;

inline constexpr const char* kProbesName = "probes";  // in the description of a capture
inline constexpr int64_t kProbesNumerics = 1;  // version of these numbers (Accumulator::numerics)
// Names of DocumentValues: how a document repeats its piece, [documents, 4]: the numbers of
// CopiedPiece; and means over its copied tokens of what all query heads give to the tokens behind
// earlier copies, and to the token before: [documents, layers, query heads], NaN in layers without
// self-attention.
inline constexpr const char* kPieceName = "piece";
inline constexpr const char* kBehindName = "behind_copies";
inline constexpr const char* kBeforeName = "token_before";

// Measures what all heads of all layers attend to in synthetic documents: exact probabilities of
// the copied tokens' queries. It does not wait for a GPU.
class ProbeCollector : public Observer {
 public:
  // The pieces of documents, by the documents' indexes.
  ProbeCollector(const ModelConfig& config, std::map<int64_t, CopiedPiece> pieces);

  std::vector<Tap> taps(int64_t layer) const override;
  void on_vectors(const TappedVectors& taken) override;
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const override;

  // The values of these documents, which must have been read. Throws InputError naming a document
  // whose attention is not finite.
  std::vector<DocumentValues> values(std::span<const Document> documents) const;

 private:
  const ModelConfig& config_;
  std::map<int64_t, CopiedPiece> pieces_;
  std::map<int64_t, std::vector<at::Tensor>> found_;  // by document, then layer: [heads, 2]
};

}  // namespace ropewalk
