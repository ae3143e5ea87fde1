#include "ropewalk/moments/files/moments_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/moments/files/moments_contents.h"
#include "ropewalk/moments/files/moments_tensors.h"

namespace ropewalk {
namespace {

void append_ids(std::vector<StreamId>& ids, int64_t layer, const std::vector<int64_t>& heads) {
  for (const int64_t head : heads) ids.push_back({layer, head});
}

std::vector<AccumulatedFields> kept_in(const MomentsCollector::Layer& layer) {
  std::vector<AccumulatedFields> kept;
  for (size_t i = 0; i < layer.fields.size(); ++i) {
    if (!layer.fields[i].empty()) kept.push_back({accumulators()[i], {}, layer.fields[i]});
  }
  return kept;
}

}  // namespace

CaptureMoments layer_moments(const MomentsCollector& collector, int64_t layer,
                             const MomentsCollector::Layer& gathered, CaptureInfo info) {
  const LayerStreams& streams = collector.streams().at(layer);
  CaptureMoments moments;
  moments.info = std::move(info);
  moments.counts = gathered.counts;
  append_ids(moments.queries, layer, streams.q_heads);
  append_ids(moments.keys, layer, streams.kv_heads);
  moments.accumulated = kept_in(gathered);
  for (AccumulatedFields& one : moments.accumulated) {
    one.total = total_of(*one.accumulator, one.blocks, gathered.counts);
  }
  return moments;
}

void write_moments(const std::filesystem::path& path, const MomentsCollector& collector,
                   const CaptureInfo& info, const std::vector<DocumentRecord>& documents,
                   const std::vector<DocumentValues>& values) {
  const BlockCounts& counts = collector.layers().begin()->second.counts;
  MomentsContents contents{info, documents, counts, {}, {}, collector.shape(), {}, {}, {}, values};
  contents.shape.documents =
      std::min(contents.shape.documents, shape_of(info, documents, 0).documents);
  std::map<int64_t, std::vector<AccumulatedFields>> kept;
  for (const auto& [number, layer] : collector.layers()) {
    if (layer.counts != counts) {
      throw std::logic_error(fmt::format("layer {} has read {} documents, but the first layer {}",
                                         number, layer.counts.total_documents(),
                                         counts.total_documents()));
    }
    const LayerStreams& streams = collector.streams().at(number);
    append_ids(contents.queries, number, streams.q_heads);
    append_ids(contents.keys, number, streams.kv_heads);
    kept[number] = kept_in(layer);
    contents.pieces.push_back(
        {kept[number], [&collector, &layer = layer] { collector.release(layer); }});
  }
  write_contents(path, contents);
}

CaptureMoments rounded_to_file(CaptureMoments moments) {
  const CaptureShape shape =
      shape_of(moments.info, moments.documents, moments.streams(StreamKind::query).d());
  for (AccumulatedFields& kept : moments.accumulated) {
    const std::vector<KeptField> fields = kept.accumulator->fields(shape);
    for (size_t i = 0; i < kept.blocks.size(); ++i) {
      kept.total[i] = kept.total[i].narrow(1, 0, fields[i].width);
      at::Tensor& blocks = kept.blocks[i];
      if (!fields[i].blocks) {
        blocks = at::zeros({blocks.size(0), 1, 0}, at::kDouble);
      } else if (!fields[i].exact) {
        blocks = blocks.to(at::kFloat);
        require_finite(blocks, blocks_name(*kept.accumulator, fields[i]), moments.info,
                       fields[i].kind, moments.ids(fields[i].kind), 0);
      }
    }
  }
  moments.info = CaptureInfo::from_json(stored_info(moments.info), "moments");
  return moments;
}

CaptureMoments rounded_to_file(const MomentsCollector& collector, const CaptureInfo& info,
                               const std::vector<DocumentRecord>& documents,
                               const std::vector<DocumentValues>& values) {
  std::vector<CaptureMoments> layers;
  for (const auto& [number, layer] : collector.layers()) {
    throw_if_interrupted();
    CaptureMoments one = layer_moments(collector, number, layer, info);
    one.documents = documents;
    layers.push_back(rounded_to_file(std::move(one)));
  }
  CaptureMoments all = join_layers(std::move(layers));
  all.document_values = values;
  return all;
}

void write_moments(const std::filesystem::path& path, const CaptureMoments& moments) {
  const int64_t d = moments.accumulated.empty() ? 0 : moments.streams(StreamKind::query).d();
  write_contents(path, {moments.info,
                        moments.documents,
                        moments.counts,
                        moments.queries,
                        moments.keys,
                        shape_of(moments.info, moments.documents, d),
                        {{moments.accumulated, [] {}}},
                        moments.query_counts,
                        moments.key_counts,
                        moments.document_values});
}

}  // namespace ropewalk
