#include "ropewalk/study/capture.h"

#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/json.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/base/version.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/vectors_collector.h"
#include "ropewalk/study/inspect.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr int kCaptureFormat = 1;

void refuse_used_folder(const fs::path& out) {
  std::error_code error;
  if (!fs::exists(out, error)) return;
  if (!fs::is_directory(out, error)) throw UsageError("--out {}: is not a folder", out.string());
  if (!fs::is_empty(out, error)) {
    throw UsageError("--out {}: is not empty; name a new folder, or remove it first", out.string());
  }
}

std::optional<Tokenizer> find_tokenizer(const CaptureOptions& options) {
  if (options.tokenizer) return Tokenizer::from_file(*options.tokenizer);
  if (fs::exists(options.model.model / "tokenizer.json")) {
    return Tokenizer::from_file(options.model.model);
  }
  return std::nullopt;  // a corpus of tokens needs none; select_documents says so where it does
}

DocumentSet read_documents(const CaptureOptions& options, const OpenModel& model) {
  const auto corpus = open_corpus(options.corpus);
  const auto tokenizer = find_tokenizer(options);
  DocumentOptions wanted;
  wanted.context = model.context;
  wanted.min_tokens = options.min_tokens;
  wanted.documents = options.documents;
  wanted.vocabulary_size = static_cast<int32_t>(model.text.config.embedding_rows);
  DocumentSet set = select_documents(*corpus, tokenizer ? &*tokenizer : nullptr, wanted);
  log::info("{} documents, {} tokens; {} shorter ones skipped", set.documents.size(), set.total_tokens,
            set.skipped_short);
  return set;
}

Json describe_capture(const CaptureOptions& options, const OpenModel& model, const DocumentSet& documents,
                      const TokenSampler& sampler) {
  Json heads = Json::array();
  for (const QueryHead& head : model.heads) heads.push_back({head.layer, head.q_head});
  Json json = describe_config(model.text.config);
  json["format"] = kCaptureFormat;
  json["ropewalk"] = version();
  json["model"] = fs::absolute(options.model.model).lexically_normal().filename().string();
  json["label"] = options.label;
  json["dtype"] = dtype_name(model.dtype);
  json["device"] = model.device.is_cuda() ? "cuda" : "cpu";
  json["context"] = model.context;
  json["point"] = options.pre_rope ? "pre-rope" : "post-rope";
  json["heads"] = heads;
  json["heads_seed"] = options.model.seed;
  json["documents"] = documents.documents.size();
  json["tokens"] = documents.total_tokens;
  json["skipped_short"] = documents.skipped_short;
  json["tokenizer"] = documents.tokenizer_digest;
  json["vectors"] = {
      {"sampling", *options.vectors}, {"rate", sampler.rate()}, {"bucket_size", sampler.bucket_size()}};
  return json;
}

}  // namespace

void capture(const CaptureOptions& options) {
  if (!options.vectors) {
    throw UsageError("nothing to write: add --vectors uniform, log-uniform or all");
  }
  refuse_used_folder(options.out);
  const OpenModel model = open_model(options.model);
  const ModelConfig& config = model.text.config;
  TokenSamplerOptions sampling;
  sampling.mode = parse_token_sampling(*options.vectors);
  sampling.rate = options.rate;
  sampling.context = model.context;
  sampling.bucket_size = options.bucket_size;
  const TokenSampler sampler(sampling);
  const WeightReader weights(*model.checkpoint, *model.text.architecture, config, model.last_layer,
                             model.dtype, model.device);
  const DocumentSet documents = read_documents(options, model);

  AtomicFolder folder(options.out);
  VectorsWriter writer(folder.path(), config.d_head, kVectorsBuffer);
  VectorsCollector collector(config, model.heads, model.context, sampler, writer);
  Progress progress("capture", "token-layers", documents.total_tokens * (model.last_layer + 1));
  ForwardOptions forward;
  forward.point = options.pre_rope ? CapturePoint::pre_rope : CapturePoint::post_rope;
  forward.memory = model.memory;
  forward.progress = [&](int64_t layer, int64_t tokens) {
    progress.note(fmt::format("layer {}/{}", layer + 1, model.last_layer + 1));
    progress.advance(tokens);
  };
  run_forward(config, weights, model.last_layer, documents.documents, collector, forward);
  progress.finish();
  writer.finish();
  write_file_atomically(folder.path() / "capture.json",
                        describe_capture(options, model, documents, sampler).dump(2) + "\n");
  folder.commit();
  log::info("{} vectors of {} heads in {}", writer.rows_written(), model.heads.size(),
            options.out.string());
}

}  // namespace ropewalk
