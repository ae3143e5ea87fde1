#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_tensors.h"

namespace ropewalk {
namespace {

// Reads tensors of known shape from a checked file.
class TensorReader {
 public:
  explicit TensorReader(const SafetensorsFile& file) : file_(file) {}

  bool has(const std::string& name) const { return file_.tensors().contains(name); }
  std::vector<int64_t> shape(const std::string& name) const { return find(name).shape; }
  // The type of numbers that may be stored in several types; float64 where the stored type is none
  // of them.
  at::ScalarType number_type(const std::string& name) const {
    const std::string& stored = find(name).type_name;
    for (const at::ScalarType type : {at::kHalf, at::kFloat}) {
      if (stored == type_name(type)) return type;
    }
    return at::kDouble;
  }

  at::Tensor tensor(const std::string& name, at::ScalarType type,
                    const std::vector<int64_t>& shape) const {
    const StoredTensor& stored = find(name);
    const char* expected = type_name(type);
    if (stored.type_name != expected || stored.shape != shape) {
      throw InputError("{}: tensor '{}' is {} {}, expected {} {}", file_.path().string(), name,
                       stored.type_name, format_shape(stored.shape), expected, format_shape(shape));
    }
    throw_if_interrupted();
    at::Tensor result = at::empty(shape, at::TensorOptions().dtype(type));
    constexpr int64_t kPiece = int64_t{1} << 20;
    auto* const to = static_cast<std::byte*>(result.data_ptr());
    const std::byte* const from = file_.file().data() + stored.offset;
    // One core takes longer to get memory than to copy, so several are used.
    at::parallel_for(0, (stored.bytes + kPiece - 1) / kPiece, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kPiece, last = std::min(end * kPiece, stored.bytes);
      std::memcpy(to + first, from + first, static_cast<size_t>(last - first));
    });
    // One value that is not finite makes the sum so, which is a faster check.
    if (type != at::kLong && !std::isfinite(result.sum().item<double>()) &&
        !result.isfinite().all().item<bool>()) {
      throw InputError("{}: tensor '{}' holds values that are not finite", file_.path().string(),
                       name);
    }
    return result;
  }

  template <typename T>
  std::vector<T> values(const std::string& name, int64_t count) const {
    const at::Tensor read = tensor(name, c10::CppTypeToScalarType<T>::value, {count});
    const T* data = read.const_data_ptr<T>();
    return {data, data + count};
  }

 private:
  const StoredTensor& find(const std::string& name) const {
    const auto found = file_.tensors().find(name);
    if (found == file_.tensors().end()) {
      throw InputError("{}: tensor '{}' is missing; is this a moments file?", file_.path().string(),
                       name);
    }
    return found->second;
  }

  const SafetensorsFile& file_;
};

std::vector<StreamId> read_ids(const TensorReader& file, const std::string& path,
                               const std::string& kind) {
  const std::vector<int64_t> shape = file.shape(kind + ".layer");
  if (shape.size() != 1 || shape[0] < 1) {
    throw InputError("{}: tensor '{}.layer' has shape {}, expected [streams]", path, kind,
                     format_shape(shape));
  }
  std::vector<StreamId> ids;
  const auto layers = file.values<int64_t>(kind + ".layer", shape[0]);
  const auto heads = file.values<int64_t>(kind + ".head", shape[0]);
  for (size_t i = 0; i < layers.size(); ++i) {
    ids.push_back({layers[i], heads[i]});
    if (layers[i] < 0 || heads[i] < 0 || (i > 0 && !(ids[i - 1] < ids[i]))) {
      throw InputError("{}: tensors '{}.layer' and '{}.head' are not sorted", path, kind, kind);
    }
  }
  return ids;
}

// Every file has the second moments, whose means tell the width of vectors.
int64_t read_head_dim(const TensorReader& file, const std::string& path) {
  constexpr int64_t kMaxHeadDim = 1 << 14;
  const std::vector<int64_t> shape = file.shape("query.mean");
  if (shape.size() != 2 || shape[1] < 1 || shape[1] > kMaxHeadDim) {
    throw InputError("{}: tensor 'query.mean' has shape {}, expected [streams, head_dim]", path,
                     format_shape(shape));
  }
  return shape[1];
}

AccumulatedFields read_fields(const TensorReader& file, const CaptureMoments& moments,
                              const Accumulator& accumulator, const CaptureShape& shape,
                              Blocks blocks) {
  AccumulatedFields kept{&accumulator, {}, {}};
  const std::vector<KeptField> fields = accumulator.fields(shape);
  const bool has_blocks = blocks == Blocks::needed ||
                          std::all_of(fields.begin(), fields.end(), [&](const KeptField& field) {
                            return !field.blocks || file.has(blocks_name(accumulator, field));
                          });
  for (const KeptField& field : fields) {
    const auto streams = static_cast<int64_t>(moments.ids(field.kind).size());
    const std::string name = total_name(accumulator, field);
    kept.total.push_back(file.tensor(name, field.compact ? file.number_type(name) : at::kDouble,
                                     {streams, field.width}));
    if (!has_blocks) continue;
    kept.blocks.push_back(field.blocks ? file.tensor(blocks_name(accumulator, field),
                                                     field.exact ? at::kDouble : at::kFloat,
                                                     {streams, moments.blocks(), field.width})
                                       : at::zeros({streams, 1, 0}, at::kDouble));
  }
  return kept;
}

void check_counts(const BlockCounts& counts, const std::string& path, const std::string& whose) {
  int64_t tokens = 0;
  for (size_t b = 0; b < counts.tokens.size(); ++b) {
    constexpr int64_t kLimit = int64_t{1} << 52;  // counts and their sum are exact in float64
    const bool sane = counts.tokens[b] >= 0 && counts.tokens[b] < kLimit - tokens &&
                      counts.documents[b] >= 0 && counts.documents[b] <= counts.tokens[b] &&
                      counts.position_scatter[b] >= 0;
    if (!sane) throw InputError("{}: the counts of block {}{} are impossible", path, b, whose);
    tokens += counts.tokens[b];
  }
}

// Each stream's own counts, for sampled vectors.
std::vector<BlockCounts> read_stream_counts(const TensorReader& file, const std::string& path,
                                            const std::string& kind, size_t streams,
                                            int64_t blocks) {
  if (!file.has("query.block_tokens")) return {};
  const std::vector<int64_t> shape{static_cast<int64_t>(streams), blocks};
  const at::Tensor tokens = file.tensor(kind + ".block_tokens", at::kLong, shape);
  const at::Tensor mean = file.tensor(kind + ".block_position_mean", at::kDouble, shape);
  const at::Tensor scatter = file.tensor(kind + ".block_position_scatter", at::kDouble, shape);
  std::vector<BlockCounts> all;
  for (int64_t i = 0; i < shape[0]; ++i) {
    BlockCounts counts(blocks);
    for (int64_t b = 0; b < blocks; ++b) {
      const auto block = static_cast<size_t>(b);
      counts.tokens[block] = tokens.const_data_ptr<int64_t>()[i * blocks + b];
      counts.position_mean[block] = mean.const_data_ptr<double>()[i * blocks + b];
      counts.position_scatter[block] = scatter.const_data_ptr<double>()[i * blocks + b];
    }
    check_counts(counts, path, fmt::format(" of {} {}", kind, i));
    all.push_back(std::move(counts));
  }
  return all;
}

BlockCounts read_counts(const TensorReader& file, const std::string& path) {
  const std::vector<int64_t> shape = file.shape("block.tokens");
  if (shape.size() != 1 || shape[0] < 1)
    throw InputError("{}: tensor 'block.tokens' is not a list", path);
  BlockCounts counts(shape[0]);
  counts.documents = file.values<int64_t>("block.documents", shape[0]);
  counts.tokens = file.values<int64_t>("block.tokens", shape[0]);
  counts.position_mean = file.values<double>("block.position_mean", shape[0]);
  counts.position_scatter = file.values<double>("block.position_scatter", shape[0]);
  check_counts(counts, path, "");
  return counts;
}

// All values per document, except those that identify documents.
std::vector<DocumentValues> read_values(const SafetensorsFile& file, const TensorReader& tensors,
                                        int64_t documents) {
  const std::string prefix = document_name("");
  const std::set<std::string> known{"index", "digest", "prefix_digest", "tokens"};
  std::vector<DocumentValues> values;
  for (const auto& [full, stored] : file.tensors()) {
    if (!full.starts_with(prefix)) continue;
    const std::string name = full.substr(prefix.size());
    if (known.contains(name)) continue;
    std::vector<int64_t> shape = stored.shape;
    if (shape.empty() || shape.size() > 3) {
      throw InputError("{}: tensor '{}' has shape {}, expected [documents, …]",
                       file.path().string(), full, format_shape(shape));
    }
    shape[0] = documents;
    values.push_back({name, tensors.tensor(full, at::kDouble, shape)});
  }
  return values;
}

CaptureMoments read_head(const SafetensorsFile& file, const TensorReader& tensors) {
  const std::string name = file.path().string();
  const auto info = file.metadata().find(kMomentsInfoKey);
  if (info == file.metadata().end()) {
    throw InputError("{}: has no '{}' metadata; is this a moments file?", name, kMomentsInfoKey);
  }
  CaptureMoments moments;
  const std::string metadata = name + ": metadata";
  moments.info = CaptureInfo::from_json(parse_json(info->second, metadata), metadata);
  moments.counts = read_counts(tensors, name);
  const int64_t count = moments.counts.total_documents();
  const auto index = tensors.values<int64_t>("document.index", count);
  const auto digest = tensors.values<int64_t>("document.digest", count);
  const auto prefix = tensors.values<int64_t>("document.prefix_digest", count);
  const auto tokens = tensors.values<int64_t>("document.tokens", count);
  for (size_t i = 0; i < index.size(); ++i) {
    moments.documents.push_back(
        {index[i], static_cast<uint64_t>(digest[i]), static_cast<uint64_t>(prefix[i]), tokens[i]});
    if (index[i] < 0 || (i > 0 && index[i] <= index[i - 1])) {
      throw InputError("{}: tensor 'document.index' is not sorted", name);
    }
    if (index[i] > kMostDocuments) {
      throw InputError("{}: tensor 'document.index' holds {}, expected numbers from 0 to {}", name,
                       index[i], kMostDocuments);
    }
  }
  moments.document_values = read_values(file, tensors, count);
  return moments;
}

}  // namespace

CaptureMoments read_moments_head(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  return read_head(file, TensorReader(file));
}

CaptureMoments read_moments(const std::filesystem::path& path, Blocks blocks, Tokens tokens) {
  const std::string name = path.string();
  const SafetensorsFile file(path);
  const TensorReader tensors(file);
  CaptureMoments moments = read_head(file, tensors);
  if (moments.info.values_alone()) {
    throw InputError(
        "{}: holds the loss of documents but no moments, as ropewalk loss writes it; expected a "
        "capture of ropewalk capture",
        name);
  }
  moments.queries = read_ids(tensors, name, "query");
  moments.keys = read_ids(tensors, name, "key");
  if (tokens == Tokens::all && tensors.has("query.block_tokens")) {
    throw InputError("{}: holds moments of sampled vectors, which cannot be joined or exported",
                     name);
  }
  moments.query_counts =
      read_stream_counts(tensors, name, "query", moments.queries.size(), moments.blocks());
  moments.key_counts =
      read_stream_counts(tensors, name, "key", moments.keys.size(), moments.blocks());
  const CaptureShape shape =
      shape_of(moments.info, moments.documents, read_head_dim(tensors, name));
  for (const Accumulator* accumulator : accumulators()) {
    const std::vector<KeptField> fields = accumulator->fields(shape);
    const bool kept = accumulator == accumulators().front() ||
                      (!fields.empty() && tensors.has(total_name(*accumulator, fields.front())));
    if (!kept) continue;
    moments.accumulated.push_back(read_fields(tensors, moments, *accumulator, shape, blocks));
  }
  file.file().require_unchanged();
  return moments;
}

}  // namespace ropewalk
