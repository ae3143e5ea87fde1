#include "ropewalk/analysis/analyze/vectors_streams.h"

#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

// How much memory a file may need: a fixed amount, plus this much per byte of the file. Parquet
// compresses repeated values, so a small file can announce more vectors than fit into memory.
constexpr int64_t kAlwaysHeld = int64_t{64} << 20;
constexpr int64_t kHeldPerByte = 1024;

// Throws InputError where a stream of n vectors of d numbers needs far more memory than its file
// has bytes.
void check_size(const VectorsReader& reader, const StreamKey& key, int64_t n, int64_t d,
                int64_t blocks) {
  const int64_t bytes = reader.file_bytes(key);
  const double room = static_cast<double>(kAlwaysHeld) + static_cast<double>(bytes) * kHeldPerByte;
  const double rows = static_cast<double>(n) * static_cast<double>(d) * sizeof(double);
  const double moments = static_cast<double>(blocks + 1) * static_cast<double>(d) *
                         static_cast<double>(d) * sizeof(double);
  if (rows + moments <= room) return;
  throw InputError(
      "{}: states {} vectors of {} numbers, which need {} of memory, in a file of {}; expected "
      "queries or keys of one head",
      reader.file(key).string(), n, d, format_bytes(static_cast<int64_t>(rows + moments)),
      format_bytes(bytes));
}

VectorBatch read_rows(const VectorsReader& reader, const StreamKey& key, int64_t blocks) {
  VectorBatch all;
  reader.read(key, [&](const VectorBatch& batch) {
    all.head_dim = batch.head_dim;
    check_size(reader, key, static_cast<int64_t>(all.positions.size() + batch.positions.size()),
               all.head_dim, blocks);
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(all.example_ids, batch.example_ids);
    append(all.positions, batch.positions);
    append(all.vectors, batch.vectors);
  });
  return all;
}

}  // namespace

BlockOfExample assign_blocks(const VectorsReader& reader, bool runs) {
  std::set<int64_t> examples;
  for (const StreamKey& key : reader.streams()) {
    reader.read(key, [&](const VectorBatch& batch) {
      examples.insert(batch.example_ids.begin(), batch.example_ids.end());
    });
  }
  BlockOfExample block_of;
  const auto count = static_cast<int64_t>(examples.size());
  const int64_t blocks = std::min(kVectorBlocks, count);
  int64_t rank = 0;
  for (const int64_t example : examples) {
    block_of[example] = runs ? rank * blocks / count : rank % blocks;
    ++rank;
  }
  return block_of;
}

StreamInput read_stream(const VectorsReader& reader, const StreamKey& key,
                        const BlockOfExample& block_of, int64_t blocks) {
  VectorBatch rows = read_rows(reader, key, blocks);
  const auto n = static_cast<int64_t>(rows.positions.size());
  const int64_t d = rows.head_dim;
  const at::Tensor x =
      at::from_blob(rows.vectors.data(), {n, d}, at::TensorOptions().dtype(at::kFloat))
          .to(at::kDouble);
  const at::Tensor t =
      at::from_blob(rows.positions.data(), {n}, at::TensorOptions().dtype(at::kInt))
          .to(at::kDouble);
  std::vector<int64_t> block_of_row;
  for (const int64_t example : rows.example_ids) block_of_row.push_back(block_of.at(example));
  const at::Tensor labels = at::tensor(block_of_row, at::kLong);

  StreamInput input;
  input.block_mean = at::zeros({blocks, d}, at::kDouble);
  input.block_position = at::zeros({blocks, d}, at::kDouble);
  input.block_products = at::zeros({blocks, d, d}, at::kDouble);
  const auto measure = [&](const at::Tensor& some_x, const at::Tensor& some_t,
                           const at::Tensor& mean, const at::Tensor& position,
                           const at::Tensor& products) {
    mean.copy_(some_x.mean(0));
    const at::Tensor centred = some_x - mean;
    const at::Tensor times = some_t - some_t.mean();
    position.copy_(at::mv(centred.t(), times));
    products.copy_(at::mm(centred.t(), centred));
    return std::pair(some_t.mean().item<double>(), times.square().sum().item<double>());
  };
  for (int64_t b = 0; b < blocks; ++b) {
    const at::Tensor own = (labels == b).nonzero().squeeze(1);
    input.block_tokens.push_back(static_cast<double>(own.numel()));
    std::pair<double, double> times{0, 0};
    if (own.numel() > 0) {
      times = measure(x.index_select(0, own), t.index_select(0, own), input.block_mean[b],
                      input.block_position[b], input.block_products[b]);
    }
    input.block_position_mean.push_back(times.first);
    input.block_position_scatter.push_back(times.second);
  }
  input.tokens = static_cast<double>(n);
  input.mean = at::zeros({d}, at::kDouble);
  input.position = at::zeros({d}, at::kDouble);
  input.products = at::zeros({d, d}, at::kDouble);
  std::tie(input.position_mean, input.position_scatter) =
      measure(x, t, input.mean, input.position, input.products);
  return input;
}

}  // namespace ropewalk
