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

// A Llama of three layers with random weights in a folder: 4 query heads, 2 key heads, head
// dimension 6, width 16, 20 words. Change `config` or `tensors`, then call `open`.
class TinyCheckpoint {
 public:
  TinyCheckpoint();

  Json config;
  std::map<std::string, at::Tensor> tensors;

  // Adds the final norm and the head, which the other functions do not read.
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

  // The error of opening layers 0 … 2, without the folder's name; "" where there is none.
  std::string complaint();

 private:
  TemporaryFolder folder_;
};

// Documents of these lengths, made of words that the tiny checkpoint knows.
std::vector<Document> tiny_documents(const std::vector<int64_t>& lengths);

}  // namespace ropewalk
