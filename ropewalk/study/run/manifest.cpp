#include "ropewalk/study/run/manifest.h"

#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/version.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json describe_settings(const Experiment& experiment) {
  Json settings{{"ablate", experiment.ablate ? experiment.ablate->to_json() : Json()},
                {"axis", time_axis_name(experiment.axis)},
                {"backend", experiment.backend},
                {"blocks", experiment.blocks},
                {"components", experiment.components},
                {"figures", experiment.figures.to_json()},
                {"heads", experiment.head_count ? Json(*experiment.head_count) : Json("all")},
                {"heads_seed", experiment.head_seed},
                {"portraits", experiment.portraits},
                {"probes", experiment.probes},
                {"sliding", experiment.sliding},
                {"vectors", or_null(experiment.vectors)}};
  settings.update(keep_json(experiment.keep));
  return settings;
}

}  // namespace

Json describe_study(const Study& study, const std::vector<MeasuredCheckpoint>& measured) {
  const Experiment& experiment = study.experiment;
  Json captures = Json::array();
  for (const MeasuredCheckpoint& checkpoint : measured) {
    Json capture = checkpoint.info.to_json();
    // These depend on the machine.
    for (const char* key : {"seconds", "moments", "vector_files"}) capture.erase(key);
    capture["phase"] = checkpoint.planned->phase;
    captures.push_back(capture);
  }
  Json corpus =
      study.dataset ? study.dataset->describe() : Json{{"path", experiment.corpus.path.string()}};
  if (!experiment.models) {  // with several models, each checkpoint states its own
    const DocumentSet& all = study.documents.front();
    corpus.update(Json{{"documents", all.documents.size()},
                       {"tokens", all.total_tokens},
                       {"skipped_short", all.skipped_short},
                       {"skipped_empty", all.skipped_empty},
                       {"tokenizer", all.tokenizer_digest}});
  }
  return {{"format", 1},
          {"ropewalk", version_details()},
          {"name", experiment.name},
          {"experiment",
           {{"file", experiment.file.filename().string()},
            {"path", std::filesystem::absolute(experiment.file).lexically_normal().string()},
            {"sha256", sha256_hex(experiment.text)},
            {"text", experiment.text}}},
          {"corpus", corpus},
          {"settings", describe_settings(experiment)},
          {"checkpoints", captures}};
}

void write_manifest(const Study& study, const Json& manifest) {
  write_file_atomically(study.out / kManifest, manifest.dump(2) + "\n");
}

}  // namespace ropewalk
