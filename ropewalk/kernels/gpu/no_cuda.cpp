// Replaces the .cu files in builds without CUDA.
#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/passes.h"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk::cuda {
namespace {

[[noreturn]] void refuse() {
  throw SystemError("this program was built without CUDA; use device cpu");
}

}  // namespace

bool available() { return false; }
void run(const NormPass&, Stream) { refuse(); }
void run(const TurnPass&, const TurnPass&, Stream) { refuse(); }
void run(const GatePass&, Stream) { refuse(); }
bool has_chunk_moments(int64_t) { return false; }
void chunk_moments(const StridedHeads&, const StridedHeads&, const StreamChunks&, Stream) {
  refuse();
}
void chunk_moduli(Number, const StridedHeads&, const StridedHeads&, const StreamChunks&, Stream) {
  refuse();
}
void run(const JoinPass&, Stream) { refuse(); }
void run(const FewTokensPass&, Stream) { refuse(); }
void run(const SumsPass&, Stream) { refuse(); }
void run(const LagsPass&, Stream) { refuse(); }
void row_numbers(const RowsPass&, Stream) { refuse(); }
void moved_keys(const RowsPass&, Stream) { refuse(); }
void add_rows(const RowsPass&, const RowSumsPass&, const EdgesPass&, Stream) { refuse(); }
void run(const LongestPass&, Stream) { refuse(); }

}  // namespace ropewalk::cuda
