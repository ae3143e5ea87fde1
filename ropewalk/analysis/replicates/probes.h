#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/moments/copied_piece.h"

namespace ropewalk {

struct CaptureMoments;

// Means over the synthetic documents of each kind of what a head's copied tokens attend to, for the
// whole sample (row 0) and without each block of them (rows 1 …). NaN where there are none.
struct ProbeReplicates {
  at::Tensor induction;       // [replicates]: the token behind the earlier copy
  at::Tensor previous;        // [replicates]: the token before, of the same documents
  at::Tensor prefix;          // [replicates]: all tokens behind earlier copies
  std::vector<double> apart;  // distances of copies with other tokens between, ascending
  at::Tensor far;             // [replicates, apart]: as `induction`
};

// The probes of a checkpoint, from the capture that holds them. Documents of each kind are dealt to
// as many blocks as the checkpoint's own capture has.
class ProbeSource {
 public:
  // Throws InputError naming `source` and the tensor where its numbers are impossible.
  ProbeSource(const CaptureMoments& probes, int64_t blocks, const std::string& source);

  std::shared_ptr<const ProbeReplicates> of(int64_t layer, int64_t q_head) const;

 private:
  struct Kind {
    CopiedPiece piece;
    std::vector<int64_t> documents;  // their rows
  };
  at::Tensor replicates(const at::Tensor& values, const Kind& kind, int64_t layer,
                        int64_t q_head) const;

  int64_t blocks_;
  at::Tensor behind_, before_;  // [documents, layers, query heads]
  std::vector<Kind> kinds_;
};

// Those of a head; null: not measured.
std::shared_ptr<const ProbeReplicates> probe_replicates(const HeadReplicates& head);

}  // namespace ropewalk
