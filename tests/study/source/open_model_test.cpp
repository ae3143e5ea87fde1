#include "ropewalk/study/source/open_model.h"

#include <gtest/gtest.h>

#include "ropewalk/base/log.h"
#include "ropewalk/model/config/precision.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

// A float32 checkpoint whose config states another dtype.
TEST(OpenModel, TheHubsDtypeDoesNotDependOnWhetherWeightsAreHere) {
  TinyCheckpoint tiny;
  tiny.config["dtype"] = "bfloat16";
  ModelOptions options;
  options.model = tiny.open().checkpoint->folder();
  options.device = "cpu";
  EXPECT_EQ(open_model(options).dtype_reason, "weights are stored in float32, under 2 GiB")
      << "a folder's";

  options.hub.emplace();
  const OpenModel with = open_model(options);
  const OpenModel without = open_without_weights(options);
  EXPECT_EQ(with.dtype, without.dtype);
  EXPECT_EQ(with.dtype_reason, without.dtype_reason);
  EXPECT_EQ(with.dtype, multiplies_bfloat16(at::kCPU) ? at::kBFloat16 : at::kFloat);
}

TEST(OpenModel, SaysWhereAContextIsBeyondTheConfigs) {
  TinyCheckpoint tiny;
  ModelOptions options;
  options.model = tiny.open().checkpoint->folder();
  options.device = "cpu";
  options.context = 65;
  std::string said;
  log::set_sink([&](log::Level, std::string_view line) { said = line; });
  EXPECT_EQ(open_model(options).context, 65);
  log::set_sink({});
  EXPECT_EQ(said,
            "context 65 exceeds the model's max_position_embeddings 64: later tokens are at "
            "positions for which it was not made");
}

}  // namespace
}  // namespace ropewalk
