#include "python/bindings/processes.h"

#include <memory>
#include <stdexcept>

#include "python/bindings/tensors.h"

namespace ropewalk::python {
namespace {

// Sends and receives arrays of numbers; joining moments needs nothing else. Called without the GIL.
class PythonTransport : public Transport {
 public:
  explicit PythonTransport(nb::object group) : group_(std::move(group)) {}

  void send(int to, std::span<const double> numbers) override {
    const nb::gil_scoped_acquire gil;
    group_.attr("send")(to, give_tensor(view(numbers.data(), numbers.size()).clone()));
  }
  void receive(int from, std::span<double> numbers) override {
    const nb::gil_scoped_acquire gil;
    group_.attr("receive")(from, give_tensor(view(numbers.data(), numbers.size())));
  }
  void barrier() override { refuse(); }
  void broadcast(std::span<std::byte>) override { refuse(); }
  void finish() override {}
  void abort(int) override { refuse(); }

 private:
  static at::Tensor view(const double* numbers, size_t count) {
    return at::from_blob(const_cast<double*>(numbers), {static_cast<int64_t>(count)}, at::kDouble);
  }
  [[noreturn]] static void refuse() {
    throw std::logic_error("processes of torch.distributed only send and receive");
  }

  nb::object group_;
};

}  // namespace

Communicator python_processes(const nb::object& group) {
  const ProcessRank self{.rank = nb::cast<int>(group.attr("rank")()),
                         .count = nb::cast<int>(group.attr("count")())};
  return {self, std::make_shared<PythonTransport>(group)};
}

}  // namespace ropewalk::python
