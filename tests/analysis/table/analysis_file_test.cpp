#include "ropewalk/analysis/table/analysis_file.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/analysis/run/summary.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/tensors/tensor_capture.h"

namespace ropewalk {
namespace {

CheckpointTable analysis() {
  TensorCapture capture({.layers = 2, .q_heads = 4, .kv_heads = 2, .head_dim = 4, .blocks = 4});
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t i = 0; i < 8; ++i) {
      const auto generator = at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(i));
      capture.add(layer, i, at::randn({4, 12, 4}, generator), at::randn({2, 12, 4}, generator));
    }
  }
  CheckpointTable made = analyze_capture(capture.moments(), 2, "step-4");
  made.label = "step-4";
  made.documents[1].second = 1ULL << 63;
  made.units.scale_of_layer = {{1, 0.5}};
  made.loss = {{0, 0, 3.5, 0.1, 8, 4, 800}};
  made.loss_parts = {{7, 12.25, 4}};
  return made;
}

TEST(AnalysisFile, GivesTheSameTables) {
  const CheckpointTable made = analysis();
  const CheckpointTable read = unpack_analysis(pack_analysis(made), "here");
  EXPECT_EQ(format_qk_table({read}), format_qk_table({made}));
  EXPECT_EQ(format_heads_table({read}), format_heads_table({made}));
  EXPECT_EQ(summarize({read}).summary.dump(), summarize({made}).summary.dump());
  EXPECT_EQ(read.documents, made.documents);
  EXPECT_EQ(read.axes.at(3).vector, made.axes.at(3).vector);
  EXPECT_EQ(read.units.in_layer(1).scale, 0.5);
  EXPECT_EQ(read.loss.at(0).groups, 4);
  EXPECT_EQ(read.loss_parts.at(0).loss, 12.25);
  EXPECT_EQ(pack_analysis(read), pack_analysis(made));
}

TEST(AnalysisFile, RefusesWhatIsDamagedOrOfAnotherEdition) {
  const std::string bytes = pack_analysis(analysis());
  const auto refused = [](const std::string& text) {
    EXPECT_THROW(unpack_analysis(text, "here"), InputError);
  };
  refused("");
  refused("ropewalk");
  for (const size_t size : {bytes.size() - 1, bytes.size() / 2, bytes.find('\n') + 1}) {
    refused(bytes.substr(0, size));
  }
  for (size_t i = 0; i < bytes.size(); i += 97) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    refused(other);
  }
  refused(bytes + "x");
}

}  // namespace
}  // namespace ropewalk
