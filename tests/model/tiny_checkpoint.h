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

  // Adds final norm and head, which the other tests do not read.
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

// Documents of these lengths, with words of the tiny checkpoint.
std::vector<Document> tiny_documents(const std::vector<int64_t>& lengths);

}  // namespace ropewalk
