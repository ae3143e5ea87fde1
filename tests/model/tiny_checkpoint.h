#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/text/documents.h"
#include "tests/temporary_folder.h"

namespace ropewalk {

// A Llama of three layers with random weights, in a folder of its own: 4 query heads on 2 key heads
// of 6 dimensions, 16 wide, 20 words. Change `config` or `tensors`, then `open`.
class TinyCheckpoint {
 public:
  TinyCheckpoint();

  Json config;
  std::map<std::string, at::Tensor> tensors;

  // Final norm and head, which the others do not read.
  void add_head();

  struct Opened {
    std::unique_ptr<Checkpoint> checkpoint;
    TextModel model;

    WeightReader reader(const Extent& extent, at::ScalarType dtype = at::kFloat) const {
      return {*checkpoint, *model.architecture, model.config, extent, dtype, at::kCPU};
    }
  };
  // Writes the folder and opens it.
  Opened open();

  // What opening layers 0 … 2 complains about, less the folder's name; "" where all is well.
  std::string complaint();

 private:
  TemporaryFolder folder_;
};

// Documents of these lengths, of words of the tiny checkpoint.
std::vector<Document> tiny_documents(const std::vector<int64_t>& lengths);

}  // namespace ropewalk
