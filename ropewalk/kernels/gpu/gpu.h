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

// The stream that torch launches its kernels on in this thread; one beside it; as our kernels take
// it.
c10::Stream torch_stream(const at::Device& device);
c10::Stream new_stream(const at::Device& device);
cuda::Stream current_stream(const at::Tensor& tensor);

// A GPU runs behind the program: an event says how far a stream has come.
std::shared_ptr<c10::Event> mark(const c10::Stream& stream);

// Work beside what torch's own stream does.
class SideStream {
 public:
  ~SideStream() { finish(); }

  // What `launch` launches begins after all that torch's stream was given so far, and after what
  // was run here before. `reads` stay until it is done: torch's stream waits for that once `ahead`
  // later ones were run.
  void run(std::vector<at::Tensor> reads, const std::function<void()>& launch, size_t ahead = 1);
  // Torch's stream goes on after all of it, and what was read may go.
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

// Copies a GPU's numbers, one after the other, to as many of the host. Through memory that the GPU
// writes to itself: it need not stop for the pages of `to`.
void copy_to_host(const at::Tensor& from, const at::Tensor& to);

Number number_type(const at::Tensor& tensor);

// Of vectors [heads, T, d] the chosen heads [streams] int32; both on a GPU.
StridedHeads heads_of(const at::Tensor& vectors, const at::Tensor& chosen);

}  // namespace ropewalk
