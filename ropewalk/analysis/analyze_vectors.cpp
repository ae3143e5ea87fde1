#include "ropewalk/analysis/analyze_vectors.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

#include "ropewalk/analysis/analyze_streams.h"
#include "ropewalk/analysis/capture_facts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/json.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/vectors_reader.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBlocks = 16;

// What may be held in memory for a file beyond its own size, and for each of its bytes: Parquet
// packs repeated values, so a small file can state vectors that no memory holds.
constexpr int64_t kAlwaysHeld = int64_t{64} << 20;
constexpr int64_t kHeldPerByte = 1024;

// What a folder says about the model behind its vectors.
struct FolderFacts {
  int64_t group = 0;                    // query heads per KV head; 0: not said
  std::optional<CaptureFacts> capture;  // of our own capture.json
};

// The published captures state their head counts in the text of README.md.
FolderFacts read_published_facts(const fs::path& file) {
  const std::string text = read_text_file(file, int64_t{16} << 20);
  // The number after a key, with only marks of a list, table or setting between them.
  const auto find = [&](std::string_view key) -> int64_t {
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const size_t begin = text.find_first_not_of("`\"'*:|= \t\r\n", at + key.size());
      if (begin == text.npos) break;
      int64_t number = 0;
      const auto read = std::from_chars(text.data() + begin, text.data() + text.size(), number);
      if (read.ec == std::errc() && number > 0) return number;
    }
    return 0;
  };
  const int64_t queries = find("head_sampling_num_query_heads");
  const int64_t keys = find("head_sampling_num_key_heads");
  FolderFacts facts;
  if (queries > 0 && keys > 0) facts.group = queries / keys;
  return facts;
}

FolderFacts read_facts(const fs::path& folder, std::optional<int64_t> kv_group) {
  FolderFacts facts;
  std::error_code ignored;
  for (const fs::path& near : {folder, fs::absolute(folder).lexically_normal().parent_path()}) {
    if (facts.group == 0 && fs::exists(near / "capture.json", ignored)) {
      const fs::path file = near / "capture.json";
      facts.capture = read_capture_facts(read_json_file(file), file.string());
      facts.group = facts.capture->group();
    } else if (facts.group == 0 && fs::exists(near / "README.md", ignored)) {
      facts = read_published_facts(near / "README.md");
    }
  }
  if (kv_group) facts.group = *kv_group;
  if (facts.group < 1) {
    throw InputError(
        "{}: nothing says how many query heads share a key head; add --kv-group N "
        "(query heads / key heads of the model)",
        folder.string());
  }
  return facts;
}

using BlockOfExample = std::unordered_map<int64_t, int64_t>;

// In turn, in order of their id. Pieces of a text are not independent of their neighbours: where
// ids are places, each block is a run of them.
BlockOfExample deal_examples(const VectorsReader& reader, bool runs) {
  std::set<int64_t> examples;
  for (const StreamKey& key : reader.streams()) {
    reader.read(key, [&](const VectorBatch& batch) {
      examples.insert(batch.example_ids.begin(), batch.example_ids.end());
    });
  }
  BlockOfExample block_of;
  const auto count = static_cast<int64_t>(examples.size());
  const int64_t blocks = std::min(kBlocks, count);
  int64_t rank = 0;
  for (const int64_t example : examples) {
    block_of[example] = runs ? rank * blocks / count : rank % blocks;
    ++rank;
  }
  return block_of;
}

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

// Moments of one stream in float64, about their own means.
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

// Every query head of the folder; its keys must be there.
std::vector<HeadId> find_heads(const VectorsReader& reader, const FolderFacts& facts,
                               const std::string& folder) {
  const std::vector<StreamKey> streams = reader.streams();
  std::vector<HeadId> heads;
  for (const StreamKey& key : streams) {
    if (key.kind != StreamKind::query) continue;
    const StreamKey kv{key.layer, static_cast<int32_t>(key.head / facts.group), StreamKind::key};
    if (std::find(streams.begin(), streams.end(), kv) == streams.end()) {
      throw InputError("{}: {} needs {}, which is not there; is --kv-group {} right?", folder,
                       stream_name(key), stream_name(kv), facts.group);
    }
    std::optional<bool> rope;
    if (facts.capture) rope = !facts.capture->nope_layers.contains(key.layer);
    heads.push_back({key.layer, key.head, kv.head, rope});
  }
  if (heads.empty()) throw InputError("{}: holds no query vectors", folder);
  return heads;
}

}  // namespace

CheckpointAnalysis analyze_vectors(const fs::path& folder, int64_t components,
                                   std::optional<int64_t> kv_group) {
  const c10::InferenceMode no_autograd;
  const VectorsReader reader(folder);
  const FolderFacts facts = read_facts(folder, kv_group);
  const bool chunked = facts.capture && facts.capture->chunked;
  const bool runs = chunked && facts.capture->placed;
  if (chunked && !runs) {
    log::warning(
        "{}: its documents are pieces of longer texts, and their ids do not say which are "
        "neighbours; standard errors take them for independent and come out too small: --from "
        "moments has honest ones",
        folder.string());
  }
  const BlockOfExample block_of = deal_examples(reader, runs);
  const int64_t blocks = std::min<int64_t>(kBlocks, static_cast<int64_t>(block_of.size()));
  CheckpointAnalysis analysis =
      facts.capture ? begin_checkpoint(*facts.capture) : CheckpointAnalysis();
  analysis.blocks = kBlocks;
  for (const auto& [example, block] : block_of) analysis.documents.emplace_back(example, 0);
  std::sort(analysis.documents.begin(), analysis.documents.end());
  StreamSource streams;
  streams.name = folder.string();
  streams.heads = find_heads(reader, facts, folder.string());
  if (facts.capture) streams.units = facts.capture->units;
  for (const HeadId& head : streams.heads) {
    analysis.last_layer = std::max(analysis.last_layer, head.layer);
  }
  const auto read = [&](int64_t layer, int64_t head, StreamKind kind) {
    const StreamKey key{static_cast<int32_t>(layer), static_cast<int32_t>(head), kind};
    StreamInput input = read_stream(reader, key, block_of, blocks);
    if (input.tokens < 2) {
      throw InputError("{}: has {:.0f} vectors; at least 2 are needed", reader.file(key).string(),
                       input.tokens);
    }
    return input;
  };
  streams.queries = [&](const HeadId& id) { return read(id.layer, id.q_head, StreamKind::query); };
  streams.keys = [&](const HeadId& id) { return read(id.layer, id.kv_head, StreamKind::key); };
  analyze_streams(analysis, streams, components);
  return analysis;
}

}  // namespace ropewalk
