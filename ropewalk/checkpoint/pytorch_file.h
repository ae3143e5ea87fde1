#pragma once

#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

// A pytorch_model.bin as torch.save writes it since version 1.6: a zip archive of a pickle, which
// is read without running it (tensor_pickle.h), and of the storages, which stay where they are.
// Opening checks everything: after that every tensor lies inside its storage. Throws InputError
// naming the file and tensor.
class PytorchFile : public WeightsFile {
 public:
  // `known`: headers that were read before, or null.
  explicit PytorchFile(const std::filesystem::path& path, KnownHeaders* known = nullptr);
};

}  // namespace ropewalk
