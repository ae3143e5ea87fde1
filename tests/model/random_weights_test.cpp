#include "ropewalk/model/random_weights.h"

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

ModelConfig config_with(NormKind norm) {
  ModelConfig config;
  config.d_model = 3;
  config.norm = norm;
  return config;
}

// The role of a tensor decides its distribution; its name only decides the seed.
TEST(RandomWeights, GoByTheRole) {
  const RandomWeights fresh(5, config_with(NormKind::rms));
  const at::Tensor drawn = fresh.tensor(TensorRole::projection, "a.norm.bias", {2, 3});
  EXPECT_NE(drawn.std().item<double>(), 0) << "whatever it is called";
  EXPECT_TRUE(at::equal(drawn, fresh.tensor(TensorRole::projection, "a.norm.bias", {2, 3})));
  EXPECT_FALSE(at::equal(drawn, fresh.tensor(TensorRole::projection, "b", {2, 3})));
  EXPECT_TRUE(at::equal(fresh.tensor(TensorRole::norm, "weight", {4}), at::ones({4})));
  EXPECT_TRUE(at::equal(fresh.tensor(TensorRole::bias, "weight", {4}), at::zeros({4})));
  const RandomWeights about_one(5, config_with(NormKind::rms_plus_one));
  EXPECT_TRUE(at::equal(about_one.tensor(TensorRole::norm, "weight", {4}), at::zeros({4})));
}

TEST(RandomWeights, EveryTensorOfALayerHasItsRole) {
  EXPECT_EQ(role_of(&LayerWeights::qkv), TensorRole::projection);
  EXPECT_EQ(role_of(&LayerWeights::q_norm), TensorRole::norm);
  EXPECT_EQ(role_of(&LayerWeights::mlp_norm_bias), TensorRole::bias);
  EXPECT_EQ(role_of(&LayerWeights::alpha_n), TensorRole::alpha_n);
}

TEST(RandomWeights, RowsDoNotDependOnOthers) {
  const RandomWeights fresh(5, config_with(NormKind::layer));
  const std::vector<int32_t> some{7, 2};
  const std::vector<int32_t> one{2};
  EXPECT_TRUE(at::equal(fresh.embedding(some).slice(0, 1), fresh.embedding(one)));
  EXPECT_TRUE(at::equal(fresh.positions(9).slice(0, 0, 4), fresh.positions(4)));
}

}  // namespace
}  // namespace ropewalk
