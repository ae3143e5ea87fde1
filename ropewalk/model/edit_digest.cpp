#include "ropewalk/base/files/hash.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {
namespace {

class EditHash {
 public:
  void add(const StillPairs&) {}
  void add(const ZeroedPairs&) {}
  void add(const Window&) {}
  void add(const FixedOutput&) {}
  void add(const DistanceBias& distance) { add(distance.logits); }
  void add(const FlattenedDrift& flatten) {
    add("q");
    add(flatten.q);
    add("k");
    add(flatten.k);
    hash_.update(&flatten.mean_position, sizeof flatten.mean_position);
  }
  void add(const RemovedAxis& axis) {
    for (const auto& [head, of] : axis.heads) {
      add(head);
      for (const at::Tensor& vector : {of.axis, of.mean_q, of.mean_k}) add(vector);
    }
  }
  template <typename... Kinds>
  void add(const std::variant<Kinds...>& what) {
    std::visit([this](const auto& kind) { add(kind); }, what);
  }

  std::string hex() { return hash_.hex(); }

 private:
  void add(const char* text) { hash_.update(std::string_view(text)); }
  void add(const LayerHead& head) { hash_.update(&head, sizeof head); }
  void add(const at::Tensor& tensor) {
    const at::Tensor numbers = tensor.to(at::kCPU, at::kDouble).contiguous();
    hash_.update(numbers.const_data_ptr(), numbers.nbytes());
  }
  void add(const std::map<LayerHead, at::Tensor>& numbers) {
    for (const auto& [head, tensor] : numbers) {
      add(head);
      add(tensor);
    }
  }

  Sha256 hash_;
};

}  // namespace

std::string edit_digest(const Edit& edit) {
  EditHash hash;
  hash.add(edit.what);
  return hash.hex();
}

}  // namespace ropewalk
