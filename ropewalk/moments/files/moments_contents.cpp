#include "ropewalk/moments/files/moments_contents.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/checkpoint/safetensors_writer.h"
#include "ropewalk/moments/files/moments_tensors.h"

namespace ropewalk {
namespace {

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// The tensors of a file, each held in memory or produced when it is written.
class TensorBundle {
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

// Writes one tensor piece by piece, so that only one piece is in memory at a time; `check` is
// called with each piece and the index of its first stream.
void add_pieces(TensorBundle& bundle, const std::string& name, at::ScalarType type,
                std::vector<int64_t> shape, const std::vector<MomentsPiece>& pieces,
                std::function<at::Tensor(const MomentsPiece&)> take,
                std::function<void(const at::Tensor&, int64_t)> check) {
  bundle.add(
      name, type, std::move(shape),
      [&pieces, type, take = std::move(take), check = std::move(check)](const ByteSink& write) {
        int64_t first = 0;
        for (const MomentsPiece& piece : pieces) {
          throw_if_interrupted();
          const at::Tensor numbers = take(piece).to(type).contiguous();
          check(numbers, first);
          write(bytes_of(numbers));
          first += numbers.size(0);
          piece.release();
        }
      });
}

// The narrowest type that holds all pieces' numbers exactly.
at::ScalarType narrowest_type(const std::vector<MomentsPiece>& pieces,
                              const std::function<at::Tensor(const MomentsPiece&)>& take) {
  at::ScalarType type = at::kHalf;
  for (const MomentsPiece& piece : pieces) {
    throw_if_interrupted();
    const at::Tensor numbers = take(piece);
    while (type != at::kDouble && !numbers.to(type).to(numbers.scalar_type()).equal(numbers)) {
      type = type == at::kHalf ? at::kFloat : at::kDouble;
    }
    piece.release();
  }
  return type;
}

// The fields of one kind of one accumulator.
void add_fields(TensorBundle& bundle, const MomentsContents& contents, size_t accumulator_index,
                StreamKind kind) {
  const Accumulator& accumulator = *contents.pieces.front().kept[accumulator_index].accumulator;
  const std::vector<KeptField> fields = accumulator.fields(contents.shape);
  const std::vector<StreamId>& ids = kind == StreamKind::query ? contents.queries : contents.keys;
  const auto streams = static_cast<int64_t>(ids.size());
  // Joining the blocks takes longer than writing them, so the totals, which are small in
  // comparison, are kept.
  const auto totals = std::make_shared<std::map<const MomentsPiece*, std::vector<at::Tensor>>>();
  const auto total = [&contents, totals, accumulator_index](const MomentsPiece& piece) {
    const AccumulatedFields& kept = piece.kept[accumulator_index];
    if (!kept.total.empty()) return kept.total;
    auto [found, added] = totals->try_emplace(&piece);
    if (added) found->second = total_of(*kept.accumulator, kept.blocks, contents.counts);
    return found->second;
  };
  for (const bool blocks : {false, true}) {
    for (size_t i = 0; i < fields.size(); ++i) {
      const KeptField& field = fields[i];
      if (field.kind != kind || (blocks && !field.blocks)) continue;
      const std::string name =
          blocks ? blocks_name(accumulator, field) : total_name(accumulator, field);
      const auto check = [&contents, &ids, kind, name](const at::Tensor& numbers, int64_t first) {
        require_finite(numbers, name, contents.info, kind, ids, first);
      };
      // The collector may have room for more documents than were read.
      const auto taken = [total, i, width = field.width](const MomentsPiece& piece) {
        return total(piece)[i].narrow(1, 0, width);
      };
      if (blocks) {
        add_pieces(
            bundle, name, field.exact ? at::kDouble : at::kFloat,
            {streams, contents.counts.blocks(), field.width}, contents.pieces,
            [accumulator_index, i](const MomentsPiece& piece) {
              return piece.kept[accumulator_index].blocks[i];
            },
            check);
      } else {
        add_pieces(bundle, name,
                   field.compact ? narrowest_type(contents.pieces, taken) : at::kDouble,
                   {streams, field.width}, contents.pieces, taken, check);
      }
    }
  }
}

void add_ids(TensorBundle& bundle, const std::string& kind, const std::vector<StreamId>& ids) {
  std::vector<int64_t> layers;
  std::vector<int64_t> heads;
  for (const StreamId& id : ids) {
    layers.push_back(id.layer);
    heads.push_back(id.head);
  }
  bundle.add(kind + ".layer", layers);
  bundle.add(kind + ".head", heads);
}

// [streams, blocks] of each stream's own counts.
void add_counts(TensorBundle& bundle, const std::string& kind,
                const std::vector<BlockCounts>& counts) {
  if (counts.empty()) return;
  const std::vector<int64_t> shape{static_cast<int64_t>(counts.size()), counts.front().blocks()};
  const auto add = [&](const char* name, const auto BlockCounts::*field) {
    using Value = typename std::decay_t<decltype(counts.front().*field)>::value_type;
    const auto type = c10::CppTypeToScalarType<Value>::value;
    at::Tensor kept = at::empty(shape, at::TensorOptions().dtype(type));
    for (size_t i = 0; i < counts.size(); ++i) {
      kept[static_cast<int64_t>(i)].copy_(at::tensor(counts[i].*field, kept.options()));
    }
    bundle.add(kind + name, type, shape, [kept](const ByteSink& write) { write(bytes_of(kept)); });
  };
  add(".block_tokens", &BlockCounts::tokens);
  add(".block_position_mean", &BlockCounts::position_mean);
  add(".block_position_scatter", &BlockCounts::position_scatter);
}

}  // namespace

Json stored_info(const CaptureInfo& info) {
  Json stored = info.to_json();
  stored.erase("seconds");  // equal numbers must give equal bytes
  return stored;
}

void require_finite(const at::Tensor& numbers, const std::string& name, const CaptureInfo& info,
                    StreamKind kind, const std::vector<StreamId>& ids, int64_t first) {
  // One value that is not finite makes the sum so, which is a faster check.
  if (std::isfinite(numbers.sum().item<double>())) return;
  const at::Tensor finite = numbers.isfinite().flatten(1).all(1);  // [streams]
  if (finite.all().item<bool>()) return;
  const auto bad = first + finite.logical_not().nonzero()[0].item<int64_t>();
  const StreamId& id = ids[static_cast<size_t>(bad)];
  throw InputError(
      "{}{} in layer {}, head {} are too large: sums over documents, '{}', overflow {}",
      info.label.empty() ? "" : fmt::format("'{}': ", info.label),
      kind == StreamKind::query ? "queries" : "keys", id.layer, id.head, name,
      numbers.scalar_type() == at::kDouble ? "float64" : "float32");
}

void write_contents(const std::filesystem::path& path, const MomentsContents& contents) {
  TensorBundle bundle;
  std::vector<int64_t> index;
  std::vector<int64_t> digest;
  std::vector<int64_t> prefix;
  std::vector<int64_t> tokens;
  for (const DocumentRecord& document : contents.documents) {
    index.push_back(document.index);
    digest.push_back(static_cast<int64_t>(document.digest));
    prefix.push_back(static_cast<int64_t>(document.prefix_digest));
    tokens.push_back(document.tokens);
  }
  bundle.add("document.index", index);
  bundle.add("document.digest", digest);
  bundle.add("document.prefix_digest", prefix);
  bundle.add("document.tokens", tokens);
  for (const DocumentValues& one : contents.values) {
    const at::Tensor kept = one.values.contiguous();
    bundle.add(document_name(one.name), at::kDouble, kept.sizes().vec(),
               [kept](const ByteSink& write) { write(bytes_of(kept)); });
  }
  bundle.add("block.documents", contents.counts.documents);
  bundle.add("block.tokens", contents.counts.tokens);
  bundle.add("block.position_mean", contents.counts.position_mean);
  bundle.add("block.position_scatter", contents.counts.position_scatter);
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    if (contents.info.values_alone()) break;
    const bool query = kind == StreamKind::query;
    add_ids(bundle, kind_name(kind), query ? contents.queries : contents.keys);
    add_counts(bundle, kind_name(kind), query ? contents.query_counts : contents.key_counts);
    for (size_t accumulator_index = 0; accumulator_index < contents.pieces.front().kept.size();
         ++accumulator_index) {
      add_fields(bundle, contents, accumulator_index, kind);
    }
  }
  write_safetensors(path, bundle.entries(), {{kMomentsInfoKey, stored_info(contents.info).dump()}});
}

}  // namespace ropewalk
