#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ropewalk/kernels/passes.h"
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
  // was run here before. `reads` stay until it is done.
  void run(std::vector<at::Tensor> reads, const std::function<void()>& launch);
  // Torch's stream goes on after that, and what was read may go.
  void finish();

 private:
  std::unique_ptr<c10::Stream> stream_;
  std::vector<at::Tensor> reads_;
  std::shared_ptr<c10::Event> done_;
};

Number number_type(const at::Tensor& tensor);

// Of vectors [heads, T, d] the chosen heads [streams] int32; both on a GPU.
Heads heads_of(const at::Tensor& vectors, const at::Tensor& chosen);

}  // namespace ropewalk
