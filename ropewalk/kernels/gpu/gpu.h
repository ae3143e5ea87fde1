#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "ropewalk/kernels/gpu/passes.h"
#include "ropewalk/kernels/torch.h"

namespace c10 {
struct Event;
}

namespace ropewalk {

// The stream on which torch launches its kernels in this thread; a new stream; and a stream as our
// kernels take it.
c10::Stream torch_stream(const at::Device& device);
c10::Stream new_stream(const at::Device& device);
cuda::Stream current_stream(const at::Tensor& tensor);

// A GPU runs behind the program: an event tells how far a stream has come.
std::shared_ptr<c10::Event> mark(const c10::Stream& stream);

// Runs work in parallel with torch's own stream.
class SideStream {
 public:
  ~SideStream() { finish(); }

  // The work that `launch` starts begins after everything that torch's stream was given so far and
  // after everything that was run here before. `reads` are kept until it is done: torch's stream
  // waits for that once `ahead` later launches were made.
  void run(std::vector<at::Tensor> reads, const std::function<void()>& launch, size_t ahead = 1);
  // Makes torch's stream wait for all of it and releases what was read.
  void finish() { finish_all_but(0); }

 private:
  struct RunningWork {
    std::vector<at::Tensor> reads;
    std::shared_ptr<c10::Event> done;
  };
  void finish_all_but(size_t latest);

  std::unique_ptr<c10::Stream> stream_;
  std::deque<RunningWork> running_;
};

// Copies numbers of a GPU to the host, through memory that the GPU writes to directly, so that it
// need not stop for the pages of `to`.
void copy_to_host(const at::Tensor& from, const at::Tensor& to);

Number number_type(const at::Tensor& tensor);

// The chosen heads [streams] int32 of vectors [heads, T, d]; both on a GPU.
StridedHeads heads_of(const at::Tensor& vectors, const at::Tensor& chosen);

}  // namespace ropewalk
