#pragma once

#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

// A pytorch_model.bin as torch.save writes it since version 1.6: a zip archive with a pickle, which
// is read without running it (tensor_pickle.h), and with storages, which are mapped. Opening the
// file checks everything, so that every tensor is known to lie inside its storage. Throws
// InputError naming the file and tensor.
class PytorchFile : public WeightsFile {
 public:
  // `known` holds headers that were read before; may be null.
  explicit PytorchFile(const std::filesystem::path& path, KnownHeaders* known = nullptr);
};

}  // namespace ropewalk
