#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

// A tensor as torch.save describes it: a view of a storage, which is another file of the archive.
struct PickledTensor {
  std::string name;
  std::string type;     // type of the storage: "FloatStorage"
  std::string storage;  // name of its file in the archive
  int64_t storage_elements = 0;
  int64_t offset = 0;  // elements
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// Reads the pickle of a dictionary of tensors that torch.save wrote. A pickle is a program, but
// this reader only makes numbers, strings, tuples, lists, dictionaries and tensors: any other name
// is refused, and nothing is ever called. Values that are not tensors are left out. Time and memory
// are linear in the size of the pickle, however it nests. `source` names it in InputError.
std::vector<PickledTensor> read_tensor_pickle(std::string_view pickle, const std::string& source);

}  // namespace ropewalk
