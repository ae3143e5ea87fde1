#include "ropewalk/moments/tensors/shared_moments.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <thread>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

constexpr int64_t kThreads = 8;
constexpr int64_t kHeads = 2;
constexpr int64_t kDim = 4;
constexpr int64_t kRows = 2;  // rows of a batch
constexpr int64_t kBatches = 24;

// It says how RoPE rotated the vectors, so that each add() rotates them back.
constexpr const char* kConfig = R"({"model_type": "llama", "num_hidden_layers": 8,
  "num_attention_heads": 2, "num_key_value_heads": 2, "hidden_size": 8, "head_dim": 4,
  "intermediate_size": 8, "vocab_size": 8, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
  "max_position_embeddings": 512})";

TensorShape shape() {
  return {.layers = 8,
          .q_heads = kHeads,
          .kv_heads = kHeads,
          .head_dim = kDim,
          .blocks = kThreads * kRows,
          .context = 512,
          .config = kConfig};
}

// Batches differ in lengths and positions; there are more of them than are remembered.
int64_t length(int64_t batch) { return 3 + batch % 90; }
at::Tensor vectors(int64_t batch, int64_t layer) {
  const auto generator =
      at::make_generator<at::CPUGeneratorImpl>(static_cast<uint64_t>(1000 * layer + batch));
  return at::randn({kRows, kHeads, length(batch), kDim}, generator) + 3;
}

void add(SharedMoments& moments, int64_t layer, int64_t batch) {
  const std::vector<int64_t> documents{kRows * batch, kRows * batch + 1};
  const at::Tensor x = vectors(batch, layer);
  moments.add(layer, documents, x, x * 2, at::arange(length(batch)) + batch % 7);
}

// Each thread's batches belong to blocks of its own, so that their sums are equal bit for bit,
// whatever the order of the threads.
void in_threads(const std::function<void(int64_t)>& work) {
  std::vector<std::jthread> threads;
  for (int64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&work, thread] { work(thread); });
  }
}

void expect_same(const SharedMoments& found, const SharedMoments& expected) {
  const CaptureMoments some = found.all(), all = expected.all();
  EXPECT_EQ(some.documents, all.documents);
  EXPECT_EQ(some.counts, all.counts);
  EXPECT_EQ(some.info.to_json(), all.info.to_json());
  const auto pairs = [&](size_t i, const auto& compare) {
    const AccumulatedFields &one = some.accumulated[i], &other = all.accumulated[i];
    for (size_t f = 0; f < other.total.size(); ++f) {
      compare(one.total[f], other.total[f]);
      compare(one.blocks[f], other.blocks[f]);
    }
  };
  ASSERT_EQ(some.accumulated.size(), 2);
  pairs(0, [](const at::Tensor& a, const at::Tensor& b) { EXPECT_TRUE(a.equal(b)); });
  // Some sums before RoPE are over all blocks, in the order in which threads added them.
  pairs(1, [](const at::Tensor& a, const at::Tensor& b) {
    EXPECT_TRUE(at::allclose(a, b, 1e-12, 1e-9));
  });
}

TEST(SharedMoments, AreThoseOfAllThreads) {
  SharedMoments expected(shape());
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t batch = 0; batch < kThreads * kBatches; ++batch) add(expected, layer, batch);
  }
  SharedMoments found(shape());
  in_threads([&](int64_t thread) {
    for (int64_t i = 0; i < kBatches; ++i) {
      for (int64_t layer = 0; layer < 2; ++layer) add(found, layer, thread + kThreads * i);
    }
  });
  expect_same(found, expected);
  EXPECT_EQ(found.next_document(), kThreads * kBatches * kRows);
}

TEST(SharedMoments, OneThreadPerLayer) {
  SharedMoments expected(shape()), found(shape());
  for (int64_t layer = 0; layer < kThreads; ++layer) {
    for (int64_t batch = 0; batch < kBatches; ++batch) add(expected, layer, batch);
  }
  in_threads([&](int64_t layer) {
    for (int64_t batch = 0; batch < kBatches; ++batch) add(found, layer, batch);
  });
  expect_same(found, expected);
}

TEST(SharedMoments, NumbersAreGivenOnce) {
  SharedMoments moments(shape());
  in_threads([&](int64_t thread) {
    for (int64_t i = 0; i < kBatches; ++i) {
      const at::Tensor x = vectors(thread, 0);
      moments.add(0, {}, x, x);
    }
  });
  const CaptureMoments all = moments.all();
  ASSERT_EQ(all.documents.size(), kThreads * kBatches * kRows);
  for (size_t i = 0; i < all.documents.size(); ++i) {
    EXPECT_EQ(all.documents[i].index, static_cast<int64_t>(i));
  }
  int64_t tokens = 0;
  for (int64_t thread = 0; thread < kThreads; ++thread) tokens += kBatches * kRows * length(thread);
  EXPECT_EQ(all.info.tokens, tokens);
}

TEST(SharedMoments, ReadersSeeWholeBatches) {
  SharedMoments moments(shape());
  std::atomic<int64_t> adding = kThreads - 1;
  in_threads([&](int64_t thread) {
    if (thread < kThreads - 1) {
      for (int64_t i = 0; i < kBatches; ++i) {
        const at::Tensor x = at::ones({kRows, kHeads, 5, kDim});
        moments.add(3, {}, x, x);
      }
      --adding;
      return;
    }
    int64_t before = 0;
    for (bool last = false; !last;) {
      last = adding == 0;
      const CaptureMoments seen = moments.all();
      const int64_t tokens = seen.counts.total_tokens();
      EXPECT_EQ(tokens, 5 * static_cast<int64_t>(seen.documents.size()));
      EXPECT_EQ(seen.documents.size() % kRows, 0);
      EXPECT_GE(tokens, before);
      before = tokens;
      if (tokens > 0) {
        EXPECT_TRUE(seen.streams(StreamKind::query).total.mean.equal(at::ones({2, 4}, at::kDouble)))
            << "what was added later does not change it";
      }
    }
    EXPECT_EQ(before, 5 * kRows * kBatches * (kThreads - 1));
  });
}

TEST(SharedMoments, APartOfABatchIsNeverSeen) {
  SharedMoments moments(shape());
  in_threads([&](int64_t thread) {
    at::Tensor x = vectors(thread, 0);
    if (thread == 3) x[1][0][1][2] = std::numeric_limits<float>::quiet_NaN();
    try {
      moments.add(0, {}, x, x);
      EXPECT_NE(thread, 3);
    } catch (const InputError&) {
      EXPECT_EQ(thread, 3);
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("start new ones"), std::string::npos);
    }
  });
  EXPECT_THROW(moments.all(), UsageError);
  EXPECT_THROW(moments.require_complete(), UsageError);
  EXPECT_THROW(moments.add(1, {}, vectors(0, 0), vectors(0, 0)), UsageError);
}

TEST(SharedMoments, RefusesABatchAsAWhole) {
  SharedMoments moments(shape());
  add(moments, 0, 0);
  const at::Tensor x = vectors(0, 0);
  const auto with = [&](const std::vector<int64_t>& documents) {
    return [&moments, &x, documents] { moments.add(0, documents, x, x); };
  };
  EXPECT_THROW(with({7, 1})(), UsageError) << "document 1 is there";
  EXPECT_THROW(with({7, 7})(), UsageError) << "twice";
  EXPECT_THROW(with({7})(), UsageError) << "a number for one of two rows";
  EXPECT_THROW(with({7, int64_t{1} << 53})(), UsageError) << "too high a number";
  EXPECT_THROW(moments.add(8, {}, x, x), UsageError) << "no such layer";
  EXPECT_THROW(moments.add(0, {}, x[0], x[0]), UsageError) << "no batch";
  EXPECT_THROW(moments.add(0, {}, x, x, at::arange(3) - 1), UsageError) << "positions below 0";
  EXPECT_THROW(moments.add(0, {}, x, x, at::arange(3) + (int64_t{1} << 26)), UsageError);
  SharedMoments once(shape());
  add(once, 0, 0);
  expect_same(moments, once);
}

// Batches whose rows all belong to one block, as a watch adds them: some rows are added up
// together.
TEST(SharedMoments, RowsOfABlockAddUp) {
  TensorShape plain = shape();
  plain.config.clear();
  plain.blocks = 4;
  SharedMoments together(plain), apart(plain);
  for (int64_t batch = 0; batch < 4; ++batch) {
    const at::Tensor x = at::randn({5, 1500, kHeads, kDim}).transpose(1, 2);
    std::vector<int64_t> documents;
    for (int64_t row = 0; row < 5; ++row) documents.push_back(4 * row + batch);
    together.add(0, documents, x, x * 2);
    for (int64_t row = 0; row < 5; ++row) {
      const at::Tensor one = x.narrow(0, row, 1);
      apart.add(0, std::vector{documents[static_cast<size_t>(row)]}, one, one * 2);
    }
  }
  const CaptureMoments some = together.all(), all = apart.all();
  EXPECT_EQ(some.documents, all.documents);
  EXPECT_EQ(some.counts.tokens, all.counts.tokens);
  EXPECT_EQ(together.next_document(), 20);
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    EXPECT_TRUE(at::allclose(some.streams(kind).blocks.products, all.streams(kind).blocks.products,
                             1e-5, 1e-2));
  }
}

TEST(SharedMoments, SumsGrowToo) {
  SharedMoments one(shape()), other(shape()), whole(shape());
  for (int64_t batch = 0; batch < 2 * kThreads; ++batch) {
    add(batch < kThreads ? one : other, 0, batch);
    add(whole, 0, batch);
  }
  const SharedMoments sum(sum_of(one, other, false), shape());
  EXPECT_EQ(sum.all().documents, whole.all().documents);
  EXPECT_EQ(sum.next_document(), whole.next_document());
  EXPECT_THROW(sum_of(one, one, false), UsageError) << "the same documents";
  const CaptureMoments twice = sum_of(one, one, true);
  EXPECT_EQ(twice.documents.back().index, 2 * kThreads * kRows - 1);

  SharedMoments grown(sum_of(one, other, false), shape());
  EXPECT_THROW(add(grown, 0, 3), UsageError) << "a document of the sum";
  in_threads([&](int64_t thread) { add(grown, 0, 2 * kThreads + thread); });
  for (int64_t thread = 0; thread < kThreads; ++thread) add(whole, 0, 2 * kThreads + thread);
  EXPECT_EQ(grown.all().documents, whole.all().documents);
  EXPECT_TRUE(at::allclose(grown.all().streams(StreamKind::key).total.products,
                           whole.all().streams(StreamKind::key).total.products));
}

// If each pair of documents were compared, so many would take an hour.
TEST(SharedMoments, TheSumOfManyDocumentsTakesNoLongerThanTheyDo) {
  constexpr int64_t kMany = 400'000;
  const TensorShape small{
      .layers = 1, .q_heads = 1, .kv_heads = 1, .head_dim = 1, .blocks = 1, .context = 1};
  const auto numbered = [&](int64_t first) {
    CaptureMoments moments = SharedMoments(small).all();
    moments.counts.documents = moments.counts.tokens = {kMany};
    for (int64_t i = 0; i < kMany; ++i) {
      moments.documents.push_back({first + 2 * i, static_cast<uint64_t>(first + 2 * i)});
    }
    return moments;
  };
  const SharedMoments even(numbered(0), small), odd(numbered(1), small);
  const CaptureMoments sum = sum_of(even, odd, /*renumber=*/false);
  ASSERT_EQ(sum.documents.size(), 2 * kMany);
  EXPECT_EQ(sum.documents[7].index, 7);
  EXPECT_THROW(sum_of(even, even, false), UsageError);
  const SharedMoments last(numbered(kMostDocuments - 2 * kMany), small);
  EXPECT_THROW(sum_of(last, odd, /*renumber=*/true), UsageError);
}

}  // namespace
}  // namespace ropewalk
