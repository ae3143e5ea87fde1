#include "ropewalk/analysis/analyze/analyze_vectors.h"

#include <algorithm>

#include "ropewalk/analysis/analyze/analyze_streams.h"
#include "ropewalk/analysis/analyze/vectors_facts.h"
#include "ropewalk/analysis/analyze/vectors_streams.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/moments/vectors/vectors_reader.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Every query head of the folder. Throws where the keys of a head are missing.
std::vector<HeadId> find_heads(const VectorsReader& reader, const VectorsFacts& facts,
                               const std::string& folder) {
  const std::vector<StreamKey> streams = reader.streams();
  std::vector<HeadId> heads;
  for (const StreamKey& key : streams) {
    if (key.kind != StreamKind::query) continue;
    const StreamKey kv{key.layer, static_cast<int32_t>(key.head / facts.group), StreamKind::key};
    if (std::find(streams.begin(), streams.end(), kv) == streams.end()) {
      throw InputError("{}: {} needs {}, which is missing; is --kv-group {} right?", folder,
                       stream_name(key), stream_name(kv), facts.group);
    }
    std::optional<bool> rope;
    if (facts.capture) rope = !facts.capture->nope_layers.contains(key.layer);
    heads.push_back({key.layer, key.head, kv.head, rope});
  }
  if (heads.empty()) throw InputError("{}: has no query vectors", folder);
  return heads;
}

}  // namespace

CheckpointTable analyze_vectors(const fs::path& folder, int64_t components,
                                std::optional<int64_t> kv_group) {
  const c10::InferenceMode no_autograd;
  const VectorsReader reader(folder);
  const VectorsFacts facts = read_vectors_facts(folder, kv_group);
  const bool chunked = facts.capture && facts.capture->chunked;
  const bool runs = chunked && facts.capture->ids_are_positions;
  if (chunked && !runs) {
    log::warning(
        "{}: its documents are pieces of longer texts, and their ids do not say which ones are "
        "neighbours; standard errors treat them as independent and come out too small; use --from "
        "moments for correct ones",
        folder.string());
  }
  const BlockOfExample block_of = assign_blocks(reader, runs);
  const int64_t blocks = std::min<int64_t>(kVectorBlocks, static_cast<int64_t>(block_of.size()));
  CheckpointTable analysis = facts.capture ? begin_checkpoint(*facts.capture) : CheckpointTable();
  analysis.blocks = kVectorBlocks;
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
