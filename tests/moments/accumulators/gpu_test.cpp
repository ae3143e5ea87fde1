// Compares what a GPU accumulates with the CPU, and moments with float64.
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/moments/accumulators/second_moments.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/tensors/tensor_capture.h"
#include "tests/kernels/gpu/gpu_test.h"
#include "tests/kernels/tensors.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

// Documents of different lengths through a collector on the GPU, against float64 over all tokens.
struct Stream {
  at::ScalarType dtype = at::kBFloat16;
  int64_t d = 128;
  double mean = 0;  // in spreads
  double sink = 0;  // the first token of every document is this many spreads away
};

ModelConfig config_of(const Stream& stream) { return small_config(1, stream.d); }

// Two passes in float64 over the tokens of all documents: mean, position and products of each head.
Moments two_pass(const std::vector<at::Tensor>& documents) {
  std::vector<at::Tensor> times;
  for (const at::Tensor& x : documents) times.push_back(at::arange(x.size(1), at::kDouble));
  const at::Tensor x = at::cat(documents, 1).to(at::kDouble);  // [heads, tokens, d]
  const at::Tensor t = at::cat(times);
  const at::Tensor centred = x - x.mean(1, true);
  const at::Tensor drift = (t - t.mean()).view({1, -1, 1});
  return {x.mean(1), (centred * drift).sum(1), at::bmm(centred.transpose(1, 2), centred)};
}

// The largest difference of all moments, relative to the stream's scatter.
double worst_difference(const Stream& stream) {
  const ModelConfig config = config_of(stream);
  const std::vector<QueryHead> heads{{0, 0}, {0, 1}, {0, 3}};
  constexpr int64_t kBlocks = 2;
  MomentsCollector measured(config, heads, {.blocks = kBlocks});
  std::vector<at::Tensor> queries[kBlocks];
  std::vector<at::Tensor> keys[kBlocks];
  int64_t index = 0;
  for (const int64_t tokens : {1, 63, 64, 65, 511, 512, 513, 1500, 9000}) {
    Document document;
    document.index = index;
    const auto vectors = [&](int64_t count, uint64_t seed) {
      const at::Tensor drift = at::arange(tokens, at::kFloat).view({1, tokens, 1}) / 1500;
      const at::Tensor mean = random_tensor({count, 1, stream.d}, 77 + seed % 2) * stream.mean;
      const at::Tensor x = random_tensor({count, tokens, stream.d}, seed) + drift + mean;
      x.select(1, 0) += stream.sink;
      return x.to(stream.dtype);
    };
    const at::Tensor q = vectors(4, static_cast<uint64_t>(100 + 2 * index));
    const at::Tensor k = vectors(2, static_cast<uint64_t>(101 + 2 * index));
    measured.on_vectors(taken(0, document, Positions::counted(tokens), q.cuda(), k.cuda()));
    queries[index % kBlocks].push_back(q.index_select(0, at::tensor({0, 1, 3})));
    keys[index % kBlocks].push_back(k);
    ++index;
  }
  measured.fetch();
  double worst = 0;
  for (int64_t b = 0; b < kBlocks; ++b) {
    const auto& fields = measured.layers().at(0).fields.front();
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      const Moments expected = two_pass((kind == StreamKind::query ? queries : keys)[b]);
      const Moments found = moments_of(block_of(fields, b, {}).numbers, kind);
      worst =
          std::max({worst, relative_error(found.mean, expected.mean),
                    relative_error(found.position, expected.position),
                    relative_error(unpack_triangle(found.products, stream.d), expected.products)});
    }
  }
  return worst;
}

TEST_F(GpuTest, MomentsAgreeWithFloat64) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const int64_t d : {32, 64, 128}) {
      for (const double mean : {0.0, 1.0, 6.0, 100.0, 10000.0}) {
        for (const double sink : {0.0, 300.0}) {
          EXPECT_LT(worst_difference({dtype, d, mean, sink}),
                    dtype == at::kBFloat16 || mean > 1000 ? 1e-4 : 1e-5)
              << c10::toString(dtype) << ' ' << d << ' ' << mean << ' ' << sink;
        }
      }
    }
  }
}

// Compares everything that is kept besides moments with the CPU.
struct OtherFields {
  at::ScalarType dtype = at::kBFloat16;
  int64_t d = 64;
  int64_t kv_heads = 2;  // each is read by four query heads
  bool interleaved = false;
  int64_t turns = 64;  // dimensions
};
class OtherFieldsTest : public GpuTest, public testing::WithParamInterface<OtherFields> {};

TEST_P(OtherFieldsTest, AgreeWithTheCpu) {
  const auto& [dtype, d, kv_heads, interleaved, turns] = GetParam();
  ModelConfig config = small_config(1, d);
  config.n_kv_heads = kv_heads;
  config.ropes.resize(1);
  config.ropes[0].rotary_dim = turns;
  config.ropes[0].interleaved = interleaved;
  config.ropes[0].theta = 1e4;
  const CollectorOptions options{
      .blocks = 2, .keep = {.plasticity = true}, .context = 5000, .documents = 3};
  MomentsCollector here(config, {{0, 0}, {0, 1}, {0, 3}}, options);
  MomentsCollector there(config, {{0, 0}, {0, 1}, {0, 3}}, options);
  int64_t index = 0;
  for (const int64_t tokens : {2, 5, 5000, 700}) {
    Document document;
    document.index = index++;
    const Positions positions = Positions::counted(tokens);
    const at::Tensor q = random_tensor({4, tokens, d}, 1).to(dtype) + 1;
    const at::Tensor k = random_tensor({kv_heads, tokens, d}, 2).to(dtype) + 1;
    document.tokens.assign(static_cast<size_t>(tokens), 7);
    document.set_digests();
    const at::Tensor slopes = alibi_slopes(4);
    for (const at::Device device : {at::Device(at::kCPU), at::Device(at::kCUDA)}) {
      const ScoreOptions scores{.scale = 0.1, .slopes = slopes.to(device)};
      const RopeTable table = make_rope_table(config.ropes[0], tokens, device);
      for (const char* point : {kPreRope, kPostRope}) {
        TappedVectors given{
            0, &document, &positions, point, {{"q", q.to(device)}, {"k", k.to(device)}}};
        given.scores = &scores;
        given.rope = &table;
        (device.is_cuda() ? there : here).on_vectors(given);
      }
    }
  }
  there.fetch();
  for (size_t a = 1; a < accumulators().size(); ++a) {
    const auto& expected = here.layers().at(0).fields[a];
    const auto& found = there.layers().at(0).fields[a];
    const std::vector<KeptField> fields = accumulators()[a]->fields(here.shape());
    for (size_t f = 0; f < expected.size(); ++f) {
      if (fields[f].name.starts_with("edge"))
        continue;  // two of nearly the same p may change places
      EXPECT_LT(relative_error(found[f], expected[f]), 1e-5)
          << accumulators()[a]->name() << ' ' << fields[f].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, OtherFieldsTest,
                         testing::Values(OtherFields{}, OtherFields{at::kFloat},
                                         OtherFields{at::kBFloat16, 128, 1, false, 96},
                                         OtherFields{at::kBFloat16, 64, 4, true, 32},
                                         OtherFields{at::kBFloat16, 80, 1, true, 80},
                                         OtherFields{at::kFloat, 96, 4, false, 48}));

TEST_F(GpuTest, MomentsAreTheSameEveryTime) {
  const Stream stream;
  const at::Tensor x = random_tensor({4, 3000, stream.d}, 9).to(stream.dtype).cuda();
  std::string first;
  for (int i = 0; i < 3; ++i) {
    const ModelConfig config = config_of(stream);
    MomentsCollector collector(config, {{0, 0}, {0, 3}}, {.blocks = 1});
    Document document;
    collector.on_vectors(taken(0, document, Positions::counted(3000), x, x.slice(0, 0, 2)));
    collector.fetch();
    const std::string bytes(collector.bytes(collector.layers().at(0)));
    if (i == 0) first = bytes;
    EXPECT_EQ(bytes, first);
  }
}

TEST_F(GpuTest, AutocastDoesNotMatter) {
  const TensorShape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 128};
  const at::Tensor q = random_tensor({4, 700, 128}, 1).cuda(),
                   k = random_tensor({2, 700, 128}, 2).cuda();
  TensorCapture plain(shape), cast(shape);
  plain.add(0, 0, q, k);
  at::autocast::set_autocast_enabled(at::kCUDA, true);
  cast.add(0, 0, q, k);
  at::autocast::set_autocast_enabled(at::kCUDA, false);
  EXPECT_TRUE(cast.layer(0)
                  .streams(StreamKind::query)
                  .total.products.equal(plain.layer(0).streams(StreamKind::query).total.products));
}

TEST_F(GpuTest, NamesWhatIsNotFinite) {
  const Stream stream;
  const at::Tensor good = random_tensor({4, 100, stream.d}, 10).to(stream.dtype);
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), 1e30}) {
    const at::Tensor bad = good.clone();
    bad.select(0, 1).select(0, 40).select(0, 3).fill_(wrong);
    const ModelConfig config = config_of(stream);
    MomentsCollector collector(config, {{0, 0}, {0, 3}}, {.blocks = 2});
    for (int64_t index = 0; index < 3; ++index) {
      Document document;
      document.index = index;
      const at::Tensor k = (index == 1 ? bad : good).slice(0, 0, 2);
      collector.on_vectors(taken(0, document, Positions::counted(100), good.cuda(), k.cuda()));
    }
    try {
      collector.fetch();
      ADD_FAILURE() << "accepted " << wrong;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("keys in layer 0, head 1, document 1"),
                std::string::npos)
          << error.what();
    }
  }
}

}  // namespace
}  // namespace ropewalk
