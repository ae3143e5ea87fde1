#include "ropewalk/moments/moments_file.h"

#include <algorithm>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/checkpoint/safetensors_writer.h"

namespace ropewalk {
namespace {

constexpr const char* kInfoKey = "ropewalk";

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

const char* type_name(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kFloat  ? "F32"
         : tensor.scalar_type() == at::kLong ? "I64"
                                             : "F64";
}

// Keeps tensors alive while their bytes are written.
class Bundle {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    kept_.push_back(tensor.contiguous());
    const at::Tensor& kept = kept_.back();
    entries_.push_back({name, type_name(kept), kept.sizes().vec(), bytes_of(kept)});
  }
  template <typename T>
  void add(const std::string& name, const std::vector<T>& values) {
    add(name, at::tensor(values, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value)));
  }
  const std::vector<TensorToWrite>& entries() const { return entries_; }

 private:
  std::vector<at::Tensor> kept_;
  std::vector<TensorToWrite> entries_;
};

void add_streams(Bundle& bundle, const std::string& kind, const StreamSet& set) {
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  for (const StreamPlace& place : set.places) {
    layers.push_back(place.layer);
    heads.push_back(place.head);
  }
  bundle.add(kind + ".layer", layers);
  bundle.add(kind + ".head", heads);
  bundle.add(kind + ".mean", set.total.mean);
  bundle.add(kind + ".position", set.total.position);
  bundle.add(kind + ".products", set.total.products);
  bundle.add(kind + ".block_mean", set.blocks.mean);
  bundle.add(kind + ".block_position", set.blocks.position.to(at::kFloat));
  bundle.add(kind + ".block_products", set.blocks.products.to(at::kFloat));
}

// Reads tensors of known shape out of a checked file.
class Unbundle {
 public:
  explicit Unbundle(const SafetensorsFile& file) : file_(file) {}

  std::vector<int64_t> shape(const std::string& name) const { return find(name).shape; }

  at::Tensor tensor(const std::string& name, at::ScalarType type,
                    const std::vector<int64_t>& shape) const {
    const StoredTensor& stored = find(name);
    const char* expected = type == at::kFloat ? "F32" : type == at::kLong ? "I64" : "F64";
    if (stored.type_name != expected || stored.shape != shape) {
      throw InputError("{}: tensor '{}' is {} {}, expected {} {}", file_.path().string(), name,
                       stored.type_name, format_shape(stored.shape), expected, format_shape(shape));
    }
    at::Tensor result = at::empty(shape, at::TensorOptions().dtype(type));
    if (stored.bytes > 0) {
      std::memcpy(result.data_ptr(), file_.file().data() + stored.offset,
                  static_cast<size_t>(stored.bytes));
    }
    if (type != at::kLong && !result.isfinite().all().item<bool>()) {
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

StreamSet read_streams(const Unbundle& file, const std::string& path, const std::string& kind,
                       int64_t blocks) {
  const std::vector<int64_t> shape = file.shape(kind + ".mean");
  constexpr int64_t kMaxHeadDim = 1 << 14;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > kMaxHeadDim) {
    throw InputError("{}: tensor '{}.mean' has shape {}, expected [streams, head_dim]", path, kind,
                     format_shape(shape));
  }
  const int64_t streams = shape[0];
  const int64_t d = shape[1];
  const int64_t packed = d * (d + 1) / 2;
  StreamSet set;
  const auto layers = file.values<int64_t>(kind + ".layer", streams);
  const auto heads = file.values<int64_t>(kind + ".head", streams);
  for (size_t i = 0; i < layers.size(); ++i) {
    set.places.push_back({layers[i], heads[i]});
    if (layers[i] < 0 || heads[i] < 0 || (i > 0 && !(set.places[i - 1] < set.places[i]))) {
      throw InputError("{}: tensors '{}.layer' and '{}.head' are not sorted", path, kind, kind);
    }
  }
  set.total = {file.tensor(kind + ".mean", at::kDouble, {streams, d}),
               file.tensor(kind + ".position", at::kDouble, {streams, d}),
               file.tensor(kind + ".products", at::kDouble, {streams, packed})};
  set.blocks.mean = file.tensor(kind + ".block_mean", at::kDouble, {streams, blocks, d});
  set.blocks.position = file.tensor(kind + ".block_position", at::kFloat, {streams, blocks, d});
  set.blocks.products =
      file.tensor(kind + ".block_products", at::kFloat, {streams, blocks, packed});
  return set;
}

BlockCounts read_counts(const Unbundle& file, const std::string& path) {
  const std::vector<int64_t> shape = file.shape("block.tokens");
  if (shape.size() != 1 || shape[0] < 1)
    throw InputError("{}: tensor 'block.tokens' is not a list", path);
  BlockCounts counts(shape[0]);
  counts.documents = file.values<int64_t>("block.documents", shape[0]);
  counts.tokens = file.values<int64_t>("block.tokens", shape[0]);
  counts.position_mean = file.values<double>("block.position_mean", shape[0]);
  counts.position_scatter = file.values<double>("block.position_scatter", shape[0]);
  for (size_t b = 0; b < counts.tokens.size(); ++b) {
    constexpr int64_t kLimit = int64_t{1} << 52;  // counts are exact in float64
    const bool sane = counts.tokens[b] >= 0 && counts.tokens[b] < kLimit &&
                      counts.documents[b] >= 0 && counts.documents[b] <= counts.tokens[b] &&
                      counts.position_scatter[b] >= 0;
    if (!sane) throw InputError("{}: the counts of block {} make no sense", path, b);
  }
  return counts;
}

}  // namespace

int64_t StreamSet::find(const StreamPlace& place) const {
  const auto found = std::lower_bound(places.begin(), places.end(), place);
  return found != places.end() && *found == place ? found - places.begin() : -1;
}

MomentsView total_moments(const StreamMoments& blocks, const BlockCounts& counts) {
  const StreamMoments sum(blocks.streams(), 1, blocks.d());
  const MomentsView total = block_view(sum, 0);
  BlockCounts joined(1);
  for (int64_t b = 0; b < counts.blocks(); ++b) {
    const auto place = static_cast<size_t>(b);
    join_moments(total, {static_cast<double>(joined.tokens[0]), joined.position_mean[0]},
                 block_view(blocks, b),
                 {static_cast<double>(counts.tokens[place]), counts.position_mean[place]});
    joined.add_block(0, counts, b);
  }
  return {total.mean.contiguous(), total.position.contiguous(), total.products.contiguous()};
}

CaptureMoments gather_moments(const MomentsCollector& collector, Json info,
                              std::vector<DocumentRecord> documents) {
  CaptureMoments moments;
  moments.info = std::move(info);
  moments.documents = std::move(documents);
  std::vector<at::Tensor> parts[2][3];
  for (const auto& [layer, gathered] : collector.layers()) {
    const LayerStreams& streams = collector.streams().at(layer);
    moments.counts = gathered.counts;
    for (const int64_t head : streams.q_heads) moments.queries.places.push_back({layer, head});
    for (const int64_t head : streams.kv_heads) moments.keys.places.push_back({layer, head});
    const StreamMoments* kinds[2] = {&gathered.queries, &gathered.keys};
    for (int kind = 0; kind < 2; ++kind) {
      parts[kind][0].push_back(kinds[kind]->mean);
      parts[kind][1].push_back(kinds[kind]->position);
      parts[kind][2].push_back(kinds[kind]->products);
    }
  }
  StreamSet* sets[2] = {&moments.queries, &moments.keys};
  for (int kind = 0; kind < 2; ++kind) {
    sets[kind]->blocks.mean = at::cat(parts[kind][0]);
    sets[kind]->blocks.position = at::cat(parts[kind][1]);
    sets[kind]->blocks.products = at::cat(parts[kind][2]);
    sets[kind]->total = total_moments(sets[kind]->blocks, moments.counts);
  }
  return moments;
}

void write_moments(const std::filesystem::path& path, const CaptureMoments& moments) {
  Bundle bundle;
  std::vector<int64_t> index;
  std::vector<int64_t> digest;
  std::vector<int64_t> prefix;
  for (const DocumentRecord& document : moments.documents) {
    index.push_back(document.index);
    digest.push_back(static_cast<int64_t>(document.digest));
    prefix.push_back(static_cast<int64_t>(document.prefix_digest));
  }
  bundle.add("document.index", index);
  bundle.add("document.digest", digest);
  bundle.add("document.prefix_digest", prefix);
  bundle.add("block.documents", moments.counts.documents);
  bundle.add("block.tokens", moments.counts.tokens);
  bundle.add("block.position_mean", moments.counts.position_mean);
  bundle.add("block.position_scatter", moments.counts.position_scatter);
  add_streams(bundle, "query", moments.queries);
  add_streams(bundle, "key", moments.keys);
  write_safetensors(path, bundle.entries(), {{kInfoKey, moments.info.dump()}});
}

CaptureMoments read_moments(const std::filesystem::path& path) {
  const std::string name = path.string();
  const SafetensorsFile file(path);
  const auto info = file.metadata().find(kInfoKey);
  if (info == file.metadata().end()) {
    throw InputError("{}: has no '{}' metadata; is this a moments file?", name, kInfoKey);
  }
  CaptureMoments moments;
  moments.info = parse_json(info->second, name + ": metadata");
  if (!moments.info.is_object() || moments.info.value("format", Json()) != kMomentsFormat) {
    throw InputError("{}: moments format {}, expected {}", name,
                     moments.info.is_object() ? moments.info.value("format", Json()).dump() : "?",
                     kMomentsFormat);
  }
  const Unbundle tensors(file);
  moments.counts = read_counts(tensors, name);
  moments.queries = read_streams(tensors, name, "query", moments.blocks());
  moments.keys = read_streams(tensors, name, "key", moments.blocks());
  if (moments.queries.blocks.d() != moments.keys.blocks.d()) {
    throw InputError("{}: queries have {} dimensions, keys {}", name, moments.queries.blocks.d(),
                     moments.keys.blocks.d());
  }
  const int64_t count = moments.counts.total_documents();
  const auto index = tensors.values<int64_t>("document.index", count);
  const auto digest = tensors.values<int64_t>("document.digest", count);
  const auto prefix = tensors.values<int64_t>("document.prefix_digest", count);
  for (size_t i = 0; i < index.size(); ++i) {
    moments.documents.push_back(
        {index[i], static_cast<uint64_t>(digest[i]), static_cast<uint64_t>(prefix[i])});
    if (index[i] < 0 || (i > 0 && index[i] <= index[i - 1])) {
      throw InputError("{}: tensor 'document.index' is not sorted", name);
    }
  }
  return moments;
}

}  // namespace ropewalk
