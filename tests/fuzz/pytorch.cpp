#include "ropewalk/checkpoint/pytorch_file.h"

#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const PytorchFile file(input.path);
  for (const auto& [name, tensor] : file.tensors()) {
    require(tensor.offset >= 0 && tensor.bytes >= 0 &&
                tensor.bytes <= file.file().size() - tensor.offset,
            "every tensor lies inside the file");
  }
}
