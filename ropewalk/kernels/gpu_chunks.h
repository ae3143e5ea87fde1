#pragma once

#include <cstdint>

#include "ropewalk/kernels/passes.h"
#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct ChunkTensors {
  at::Tensor shift;     // [streams, chunks, d]
  at::Tensor sums;      // [streams, chunks, d, 2]
  at::Tensor products;  // [streams, chunks, d, d]
};

// Moments of the tokens of a document, chunk by chunk, on a GPU, in float32 (StreamChunks). q and k
// are [heads, T, d]; chosen heads int32.
struct GpuChunks {
  GpuChunks(const at::Tensor& q, const at::Tensor& q_heads, const at::Tensor& k,
            const at::Tensor& kv_heads, const Positions& positions);

  StreamChunks pass;
  ChunkTensors parts;
  at::Tensor middle;  // [chunks] float64: mean positions
};

// Bytes of the GPU that GpuChunks may hold at once.
int64_t gpu_chunks_workspace(int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens, int64_t d,
                             at::ScalarType dtype);

}  // namespace ropewalk
