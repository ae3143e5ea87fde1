#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/base/version.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/precision.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/backend_capture.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/source/backend_model.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::string model_name(const ModelOptions& options) {
  if (options.hub) return options.hub->repository.id;
  return fs::absolute(options.model).lexically_normal().filename().string();
}

// Empty where the path is not valid UTF-8, which JSON requires.
std::string absolute_text(const fs::path& path) {
  std::string text = fs::absolute(path).lexically_normal().string();
  return invalid_utf8_offset(text) ? "" : text;
}

CaptureNames::Source source_of(const CaptureOptions& options) {
  CaptureNames::Source source;
  if (!options.model.hub) source.model = absolute_text(options.model.model);
  if (options.tokenizer) {
    std::error_code ignored;
    const bool here = fs::exists(*options.tokenizer, ignored);
    source.tokenizer = here ? absolute_text(*options.tokenizer) : options.tokenizer->string();
  }
  source.field = options.corpus.fields.field;
  source.id = options.corpus.fields.id;
  source.config = options.model.config;
  return source;
}

}  // namespace

std::string ids_digest(std::span<const Document> documents) {
  Sha256 hash;
  for (const Document& document : documents) {
    hash.update(fmt::format("{}\n", document.example_id));
  }
  return hash.hex().substr(0, 16);
}

TokenSampler make_sampler(const CaptureOptions& options, const OpenModel& model) {
  TokenSamplerOptions sampling;
  sampling.mode = parse_token_sampling(options.vectors.value_or("uniform"));
  sampling.rate = options.rate;
  sampling.context = model.context;
  sampling.bucket_size = options.bucket_size;
  return TokenSampler(sampling);
}

CollectorOptions collector_options(const CaptureOptions& options, const OpenModel& model,
                                   std::span<const Document> documents) {
  return {.blocks = options.blocks,
          .keep = model.backend ? backend_keep(options.keep, model) : options.keep,
          .context = model.context,
          .documents = documents.empty() ? 0 : documents.back().index + 1};
}

CaptureInfo describe_capture(const CaptureOptions& options, const OpenModel& model,
                             const DocumentSet& documents) {
  CaptureInfo info;
  info.ropewalk = version();
  info.source = source_of(options);
  info.model = printable(model_name(options.model));
  info.label = options.label;
  info.config = model.describe();
  info.dtype = dtype_name(model.dtype);
  info.device = model.device.is_cuda() ? "cuda" : "cpu";
  if (model.backend) info.backend = model.backend->backend;
  info.context = model.context;
  info.point = kPostRope;
  info.accumulators = kept_records(
      collector_options(options, model, documents.documents).shape(model.text.config.d_head));
  if (options.keep.loss) info.accumulators[kLossName] = {kLossNumerics};
  info.heads = model.heads;
  info.heads_seed = options.model.seed;
  info.skipped_short = documents.skipped_short;
  info.skipped_empty = documents.skipped_empty;
  info.texts = documents.texts;
  info.chunk_blocks_digest = documents.chunk_blocks_digest;
  info.texts_with_id = documents.texts_with_id;
  info.tokenizer = documents.tokenizer_digest;
  info.documents = static_cast<int64_t>(documents.documents.size());
  info.tokens = documents.total_tokens;
  info.corpus = documents_digest(make_records(documents.documents));
  info.blocks = options.blocks;
  if (options.model.hub) {
    info.hub = options.model.hub->name();
    info.stated_weights = stated_weights(shared_hub(), *options.model.hub);
  }
  if (model.random) info.random = model.random->seed();
  if (options.shard.count > 1) info.shard = options.shard;
  info.full_corpus_digest = documents.full_corpus_digest;
  if (options.vectors) {
    const TokenSampler sampler = make_sampler(options, model);
    info.vectors = {*options.vectors, sampler.rate(), sampler.bucket_size(),
                    ids_digest(documents.documents)};
  }
  return info;
}

}  // namespace ropewalk
