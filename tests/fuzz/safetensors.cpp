#include "ropewalk/checkpoint/safetensors.h"

#include "tests/fuzz/target.h"

void ropewalk::fuzz::read(const Input& input) {
  const SafetensorsFile file(input.path);
  for (const auto& [name, tensor] : file.tensors()) {
    require(tensor.offset >= 8 && tensor.bytes >= 0 &&
                tensor.bytes <= file.file().size() - tensor.offset,
            "every tensor lies inside the file");
  }
}
