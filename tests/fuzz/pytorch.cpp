#include "ropewalk/checkpoint/pytorch_file.h"

#include "ropewalk/checkpoint/tensor_pickle.h"
#include "tests/fuzz/target.h"

namespace ropewalk::fuzz {
namespace {

int64_t least_bytes(StoredType type) {
  switch (type) {
    case StoredType::f32:
      return 4;
    case StoredType::f16:
    case StoredType::bf16:
      return 2;
    default:
      return 1;
  }
}

// The bytes from the first number to the end of the last, as a reader of the tensor uses them.
int64_t reach(const StoredTensor& tensor) {
  int64_t numbers = 1;
  int64_t last = 0;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    numbers *= tensor.shape[i];
    if (!tensor.strides.empty()) last += (tensor.shape[i] - 1) * tensor.strides[i];
  }
  const int64_t count = tensor.strides.empty() ? numbers : last + 1;
  return numbers == 0 ? 0 : count * least_bytes(tensor.type);
}

}  // namespace

// An archive, or a pickle without an archive: most changes to an archive make its reading end
// before the pickle.
void read(const Input& input) {
  if (!input.bytes.starts_with("PK")) read_tensor_pickle(input.bytes, "pickle");
  const PytorchFile file(input.path);
  for (const auto& [name, tensor] : file.tensors()) {
    require(tensor.offset >= 0 && tensor.bytes >= 0 &&
                tensor.bytes <= file.file().size() - tensor.offset,
            "every tensor lies inside the file");
    require(reach(tensor) <= tensor.bytes, "every number lies inside its tensor");
  }
}

}  // namespace ropewalk::fuzz
