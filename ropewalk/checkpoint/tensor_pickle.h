#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// A tensor as torch.save describes it: a view of a storage, which is another file of the archive.
struct PickledTensor {
  std::string name;
  std::string type;     // of the storage: "FloatStorage"
  std::string storage;  // its file's name in the archive
  int64_t storage_elements = 0;
  int64_t offset = 0;  // elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// Reads the pickle of a dictionary of tensors, as torch.save writes it. A pickle is a program; this
// one can make numbers, strings, tuples, lists, dictionaries and tensors, and nothing else: any
// other name is refused, and nothing is ever called. What is no tensor is left out. Time and memory
// are linear in its size, whatever it nests. `source` is named in InputError.
std::vector<PickledTensor> read_tensor_pickle(std::string_view pickle, const std::string& source);

}  // namespace ropewalk
