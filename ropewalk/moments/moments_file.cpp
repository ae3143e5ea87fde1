#include "ropewalk/moments/moments_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "ropewalk/base/error.h"
#include "ropewalk/base/hash.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/checkpoint/safetensors_writer.h"

namespace ropewalk {
namespace {

constexpr const char* kInfoKey = "ropewalk";

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

const char* type_name(at::ScalarType type) {
  return type == at::kFloat ? "F32" : type == at::kLong ? "I64" : "F64";
}

// Tensors of a file, each kept or made when its turn comes.
class Bundle {
 public:
  void add(const std::string& name, at::ScalarType type, std::vector<int64_t> shape,
           std::function<void(const ByteSink&)> produce) {
    const int64_t bytes =
        c10::multiply_integers(shape) * static_cast<int64_t>(c10::elementSize(type));
    entries_.push_back({name, type_name(type), std::move(shape), bytes, std::move(produce)});
  }
  template <typename T>
  void add(const std::string& name, const std::vector<T>& values) {
    const auto type = c10::CppTypeToScalarType<T>::value;
    at::Tensor kept = at::tensor(values, at::TensorOptions().dtype(type));
    std::vector<int64_t> shape = kept.sizes().vec();
    add(name, type, std::move(shape), [kept](const ByteSink& write) { write(bytes_of(kept)); });
  }
  const std::vector<TensorToWrite>& entries() const { return entries_; }

 private:
  std::vector<TensorToWrite> entries_;
};

// Consecutive streams of one kind: a layer of a capture under way, or everything that was merged.
struct Piece {
  const StreamMoments& blocks;
  const MomentsView* total;       // null: the blocks added up
  std::function<void()> release;  // called when its numbers are not needed for now
};

void add_streams(Bundle& bundle, const std::string& kind, const std::vector<StreamPlace>& places,
                 const std::vector<Piece>& pieces, const BlockCounts& counts) {
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  for (const StreamPlace& place : places) {
    layers.push_back(place.layer);
    heads.push_back(place.head);
  }
  bundle.add(kind + ".layer", layers);
  bundle.add(kind + ".head", heads);
  const auto streams = static_cast<int64_t>(places.size());
  const int64_t d = pieces.front().blocks.d();
  const int64_t packed = d * (d + 1) / 2;
  // Piece by piece, so that no more than one is in memory at a time.
  const auto add = [&](const std::string& name, at::ScalarType type, std::vector<int64_t> shape,
                       std::function<at::Tensor(const Piece&)> take) {
    bundle.add(kind + name, type, std::move(shape),
               [&pieces, type, take = std::move(take)](const ByteSink& write) {
                 for (const Piece& piece : pieces) {
                   throw_if_interrupted();
                   write(bytes_of(take(piece).to(type).contiguous()));
                   piece.release();
                 }
               });
  };
  // Joining the blocks takes longer than writing them, so totals, small beside those, are kept.
  const auto totals = std::make_shared<std::map<const Piece*, MomentsView>>();
  const auto total = [&counts, totals](const Piece& piece) {
    if (piece.total != nullptr) return *piece.total;
    auto [place, added] = totals->try_emplace(&piece);
    if (added) place->second = total_moments(piece.blocks, counts);
    return place->second;
  };
  const int64_t blocks = counts.blocks();
  add(".mean", at::kDouble, {streams, d}, [=](const Piece& p) { return total(p).mean; });
  add(".position", at::kDouble, {streams, d}, [=](const Piece& p) { return total(p).position; });
  add(".products", at::kDouble, {streams, packed},
      [=](const Piece& p) { return total(p).products; });
  add(".block_mean", at::kDouble, {streams, blocks, d},
      [](const Piece& p) { return p.blocks.mean; });
  add(".block_position", at::kFloat, {streams, blocks, d},
      [](const Piece& p) { return p.blocks.position; });
  add(".block_products", at::kFloat, {streams, blocks, packed},
      [](const Piece& p) { return p.blocks.products; });
}

// What a moments file says beside its streams.
struct FileHead {
  const CaptureInfo& info;
  const std::vector<DocumentRecord>& documents;
  const BlockCounts& counts;
};

struct KindToWrite {
  std::vector<StreamPlace> places;
  std::vector<Piece> pieces;
};

void write_moments(const std::filesystem::path& path, const FileHead& head,
                   const KindToWrite& queries, const KindToWrite& keys) {
  Bundle bundle;
  std::vector<int64_t> index;
  std::vector<int64_t> digest;
  std::vector<int64_t> prefix;
  for (const DocumentRecord& document : head.documents) {
    index.push_back(document.index);
    digest.push_back(static_cast<int64_t>(document.digest));
    prefix.push_back(static_cast<int64_t>(document.prefix_digest));
  }
  bundle.add("document.index", index);
  bundle.add("document.digest", digest);
  bundle.add("document.prefix_digest", prefix);
  bundle.add("block.documents", head.counts.documents);
  bundle.add("block.tokens", head.counts.tokens);
  bundle.add("block.position_mean", head.counts.position_mean);
  bundle.add("block.position_scatter", head.counts.position_scatter);
  add_streams(bundle, "query", queries.places, queries.pieces, head.counts);
  add_streams(bundle, "key", keys.places, keys.pieces, head.counts);
  Json info = head.info.to_json();
  info.erase("seconds");  // the same numbers are the same bytes
  write_safetensors(path, bundle.entries(), {{kInfoKey, info.dump()}});
}

void add_places(std::vector<StreamPlace>& places, int64_t layer,
                const std::vector<int64_t>& heads) {
  for (const int64_t head : heads) places.push_back({layer, head});
}

// Reads tensors of known shape out of a checked file.
class Unbundle {
 public:
  explicit Unbundle(const SafetensorsFile& file) : file_(file) {}

  std::vector<int64_t> shape(const std::string& name) const { return find(name).shape; }

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
  int64_t tokens = 0;
  for (size_t b = 0; b < counts.tokens.size(); ++b) {
    constexpr int64_t kLimit = int64_t{1} << 52;  // counts and their sum are exact in float64
    const bool sane = counts.tokens[b] >= 0 && counts.tokens[b] < kLimit - tokens &&
                      counts.documents[b] >= 0 && counts.documents[b] <= counts.tokens[b] &&
                      counts.position_scatter[b] >= 0;
    if (!sane) throw InputError("{}: the counts of block {} make no sense", path, b);
    tokens += counts.tokens[b];
  }
  return counts;
}

}  // namespace

std::vector<DocumentRecord> make_records(std::span<const Document> documents) {
  std::vector<DocumentRecord> records;
  for (const Document& document : documents) {
    records.push_back({document.index, document.digest, document.prefix_digest});
  }
  return records;
}

std::string documents_digest(const std::vector<DocumentRecord>& documents) {
  Sha256 hash;
  for (const DocumentRecord& document : documents) {
    hash.update(fmt::format("{}:{:016x}\n", document.index, document.digest));
  }
  return hash.hex();
}

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

CaptureMoments layer_moments(const MomentsCollector& collector, int64_t layer,
                             const MomentsCollector::Layer& gathered, CaptureInfo info) {
  const LayerStreams& streams = collector.streams().at(layer);
  CaptureMoments moments;
  moments.info = std::move(info);
  moments.counts = gathered.counts;
  add_places(moments.queries.places, layer, streams.q_heads);
  add_places(moments.keys.places, layer, streams.kv_heads);
  moments.queries.blocks = gathered.queries;
  moments.keys.blocks = gathered.keys;
  moments.queries.total = total_moments(gathered.queries, gathered.counts);
  moments.keys.total = total_moments(gathered.keys, gathered.counts);
  return moments;
}

void write_moments(const std::filesystem::path& path, const MomentsCollector& collector,
                   const CaptureInfo& info, const std::vector<DocumentRecord>& documents) {
  KindToWrite queries;
  KindToWrite keys;
  for (const auto& [number, layer] : collector.layers()) {
    const LayerStreams& streams = collector.streams().at(number);
    add_places(queries.places, number, streams.q_heads);
    add_places(keys.places, number, streams.kv_heads);
    const auto release = [&collector, &layer = layer] { collector.release(layer); };
    queries.pieces.push_back({layer.queries, nullptr, release});
    keys.pieces.push_back({layer.keys, nullptr, release});
  }
  const BlockCounts& counts = collector.layers().begin()->second.counts;
  for (const auto& [number, layer] : collector.layers()) {
    if (layer.counts == counts) continue;
    throw std::logic_error(fmt::format("layer {} has read {} documents, the first one {}", number,
                                       layer.counts.total_documents(), counts.total_documents()));
  }
  write_moments(path, {info, documents, counts}, queries, keys);
}

void write_moments(const std::filesystem::path& path, const CaptureMoments& moments) {
  const auto whole = [](const StreamSet& set) {
    return KindToWrite{set.places, {{set.blocks, &set.total, [] {}}}};
  };
  write_moments(path, {moments.info, moments.documents, moments.counts}, whole(moments.queries),
                whole(moments.keys));
}

namespace {

CaptureMoments read_head(const SafetensorsFile& file, const Unbundle& tensors) {
  const std::string name = file.path().string();
  const auto info = file.metadata().find(kInfoKey);
  if (info == file.metadata().end()) {
    throw InputError("{}: has no '{}' metadata; is this a moments file?", name, kInfoKey);
  }
  CaptureMoments moments;
  const std::string metadata = name + ": metadata";
  moments.info = CaptureInfo::from_json(parse_json(info->second, metadata), metadata);
  moments.counts = read_counts(tensors, name);
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

}  // namespace

CaptureMoments read_moments_head(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  return read_head(file, Unbundle(file));
}

CaptureMoments read_moments(const std::filesystem::path& path) {
  const std::string name = path.string();
  const SafetensorsFile file(path);
  const Unbundle tensors(file);
  CaptureMoments moments = read_head(file, tensors);
  moments.queries = read_streams(tensors, name, "query", moments.blocks());
  moments.keys = read_streams(tensors, name, "key", moments.blocks());
  if (moments.queries.blocks.d() != moments.keys.blocks.d()) {
    throw InputError("{}: queries have {} dimensions, keys {}", name, moments.queries.blocks.d(),
                     moments.keys.blocks.d());
  }
  file.file().require_unchanged();
  return moments;
}

}  // namespace ropewalk
