#pragma once

#include <cstdint>

#include "ropewalk/kernels/gpu/passes.h"
#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Which dimensions form pairs.
struct TurningPairs {
  int64_t dim = 0;           // the number of dimensions in pairs, from the front
  bool interleaved = false;  // pairs are (2f, 2f + 1) instead of (f, f + dim / 2)
};

struct ChunkTensors {
  at::Tensor shift;     // [streams, chunks, d]
  at::Tensor sums;      // [streams, chunks, d, 2]
  at::Tensor products;  // [streams, chunks, d, d]
};

// Moments of the tokens of a document, chunk by chunk, on a GPU, in float32 (StreamChunks). q and k
// are [heads, T, d]; chosen heads are int32. With `pairs`, lengths of pairs replace the sums with
// time.
struct GpuChunks {
  GpuChunks(const at::Tensor& q, const at::Tensor& q_heads, const at::Tensor& k,
            const at::Tensor& kv_heads, const Positions& positions, const TurningPairs& pairs = {});

  StreamChunks pass;
  ChunkTensors parts;
  at::Tensor moduli;  // [streams, chunks, pairs]
  at::Tensor middle;  // [chunks] float64: mean positions
};

// The most bytes of the GPU that GpuChunks holds at once.
int64_t gpu_chunks_workspace(int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens, int64_t d,
                             at::ScalarType dtype);

}  // namespace ropewalk
