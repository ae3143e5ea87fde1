#include "ropewalk/study/show/export.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/safetensors_writer.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/show/export_kvpress.h"
#include "ropewalk/study/show/export_q_filters.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

struct ExportTarget {
  const char* name;
  ExportedModel (*make)(const ExportSource&);
};
constexpr ExportTarget kTargets[] = {{"kvpress", export_to_kvpress},
                                     {"q-filters", export_to_q_filters}};

const ExportTarget& find_target(const std::string& name) {
  const auto* found = std::find_if(std::begin(kTargets), std::end(kTargets),
                                   [&](const ExportTarget& target) { return target.name == name; });
  if (found == std::end(kTargets)) {
    throw UsageError("--to '{}' is unknown; use kvpress or q-filters", name);
  }
  return *found;
}

// What was measured and how: facts that the exported files cannot state.
Json identity(const CaptureInfo& info) {
  const Json all = info.to_json();
  Json some;
  for (const char* key :
       {"model", "label", "hub", "weights", "random", "dtype", "device", "context", "documents",
        "tokens", "corpus", "tokenizer", "blocks", "shard", "numerics", "ropewalk"}) {
    if (all.contains(key)) some[key] = all[key];
  }
  return some;
}

void write_tensors(const fs::path& path, const ExportedModel& made, const std::string& source) {
  std::vector<TensorToWrite> tensors;
  for (const auto& [name, values] : made.tensors) {
    const at::Tensor kept = values.contiguous();
    if (!kept.isfinite().all().item<bool>()) {
      throw InputError("{}: its '{}' has values that float32 cannot hold", source, name);
    }
    tensors.push_back({name, "F32", kept.sizes().vec(), static_cast<int64_t>(kept.nbytes()),
                       [kept](const ByteSink& write) {
                         write({static_cast<const char*>(kept.const_data_ptr()), kept.nbytes()});
                       }});
  }
  write_safetensors(path, std::move(tensors), {{"format", "pt"}});
}

}  // namespace

std::vector<std::string> export_targets() {
  std::vector<std::string> names;
  for (const ExportTarget& target : kTargets) names.emplace_back(target.name);
  return names;
}

void export_capture(const ExportOptions& options) {
  const ExportTarget& target = find_target(options.to);
  refuse_used_folder(options.out);
  const CaptureMoments moments = read_capture(options.capture, Blocks::if_there, Tokens::all);
  const std::string file = moments_path(options.capture).string();
  const ExportSource source{file, moments, capture_facts(moments.info, file)};
  const int64_t d = moments.streams(StreamKind::query).d();
  if (source.d() != d) {
    throw InputError(
        "{}: tensor 'query.mean' has {} dimensions, expected {} from key 'config.head_dim'",
        source.name, d, source.d());
  }
  require_all_heads(source, target.name);
  const ExportedModel made = target.make(source);
  for (const std::string& warning : made.warnings) log::warning("{}: {}", source.name, warning);
  Json facts = made.facts;
  facts["format"] = 1;
  facts["ropewalk"] = version();
  facts["to"] = target.name;
  facts["capture"] = identity(moments.info);
  AtomicFolder folder(options.out);
  write_tensors(folder.path() / "model.safetensors", made, source.name);
  write_file_atomically(folder.path() / "config.json", made.config.dump(2) + "\n");
  write_file_atomically(folder.path() / "ropewalk.json", facts.dump(2) + "\n");
  folder.commit();
  log::info("{}: {} heads of {} layers, {} tokens, for {}", options.out.string(),
            source.layers() * source.q_heads(), source.layers(), facts["tokens"].get<int64_t>(),
            target.name);
}

}  // namespace ropewalk
