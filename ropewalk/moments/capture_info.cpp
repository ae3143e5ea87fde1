#include "ropewalk/moments/capture_info.h"

#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/tap.h"
#include "ropewalk/moments/describe_difference.h"

namespace ropewalk {
namespace {

constexpr size_t kShown = 60;  // characters of a value in a message

bool is_count(const Json& value) {
  return value.is_number_integer() && value >= 0 &&
         value <= std::numeric_limits<int64_t>::max() / 2;
}

// Two whole numbers from 0 that fit into 32 bits.
std::pair<int32_t, int32_t> pair_of(const Json& value, const JsonReader& file, const char* key) {
  const auto fits = [](const Json& number) {
    return number.is_number_integer() && number >= 0 &&
           number <= std::numeric_limits<int32_t>::max();
  };
  if (!value.is_array() || value.size() != 2 || !fits(value[0]) || !fits(value[1])) {
    file.refuse(key, "pairs of whole numbers");
  }
  return {value[0].get<int32_t>(), value[1].get<int32_t>()};
}

std::vector<QueryHead> heads_at(const JsonReader& file) {
  std::vector<QueryHead> heads;
  if (!file.has("heads")) return heads;
  const Json& list = file.json().at("heads");
  if (!list.is_array()) file.refuse("heads", "a list");
  for (const Json& head : list) {
    const auto [layer, q_head] = pair_of(head, file, "heads");
    heads.push_back({layer, q_head});
  }
  return heads;
}

// Captures of earlier editions hold a list of names, and had one version of all numerics.
KeepRecords kept_at(const JsonReader& file, int64_t numerics) {
  KeepRecords records;
  if (!file.has("kept")) return records;
  const Json& kept = file.json().at("kept");
  const auto refuse = [&] { file.refuse("kept", "names, each with its numerics"); };
  if (!kept.is_array() && !kept.is_object()) refuse();
  for (const auto& [key, value] : kept.items()) {
    if (kept.is_array()) {
      if (!value.is_string()) refuse();
      records[value.get<std::string>()] = {numerics, {}};
      continue;
    }
    if (!value.is_object() || !is_count(value.value("numerics", Json()))) refuse();
    KeepRecord& read = records[key];
    read.numerics = value.at("numerics").get<int64_t>();
    const Json count = value.value("count", Json(0));
    const auto parsed =
        parse_keep_count(count.is_string() ? count.get<std::string>() : count.dump());
    if (!parsed) refuse();
    read.count = *parsed;
  }
  return records;
}

Json heads_json(const std::vector<QueryHead>& heads) {
  Json list = Json::array();
  for (const QueryHead& head : heads) list.push_back({head.layer, head.q_head});
  return list;
}

Json vectors_json(const CaptureInfo::Vectors& vectors) {
  Json json{
      {"sampling", vectors.sampling}, {"rate", vectors.rate}, {"bucket_size", vectors.bucket_size}};
  if (!vectors.ids.empty()) json["ids"] = vectors.ids;
  return json;
}

std::optional<CaptureInfo::Backend> backend_at(const JsonReader& file) {
  if (!file.has("backend")) return std::nullopt;
  const JsonReader backend = file.object("backend");
  return CaptureInfo::Backend{backend.text("name"), backend.text("version"), backend.text("torch")};
}

}  // namespace

Json CaptureInfo::Backend::to_json() const {
  return {{"name", name}, {"version", version}, {"torch", torch}};
}

std::string CaptureInfo::Backend::text() const {
  return fmt::format("{} {} with torch {}", name, version, torch);
}

Json CaptureInfo::to_json() const {
  Json json{{"format", kMomentsFormat},
            {"numerics", numerics},
            {"ropewalk", ropewalk},
            {"model", model},
            {"label", label},
            {"weights", weights},
            {"config", config.json()},
            {"dtype", dtype},
            {"device", device},
            {"context", context},
            {"point", point},
            {"heads", heads_json(heads)},
            {"heads_seed", heads_seed},
            {"documents", documents},
            {"tokens", tokens},
            {"corpus", corpus},
            {"skipped_short", skipped_short},
            {"skipped_empty", skipped_empty},
            {"tokenizer", tokenizer},
            {"blocks", blocks},
            {"seconds", seconds}};
  if (!hub.empty()) json["hub"] = hub;
  if (backend) json["backend"] = backend->to_json();
  if (!stated_weights.empty()) json["stated_weights"] = stated_weights;
  if (!moments.empty()) json["moments"] = moments;
  if (vector_files) {
    json["vector_files"] = {{"bytes", vector_files->bytes}, {"hash", vector_files->hash}};
  }
  if (!head_weights.empty()) json["head_weights"] = head_weights;
  if (random) json["random"] = *random;
  if (texts > 0)
    json["chunk"] = {{"texts", texts}, {"pieces", chunk_blocks_digest}, {"named", texts_with_id}};
  if (shard) json["shard"] = {shard->index, shard->count};
  if (!full_corpus_digest.empty()) json["whole"] = full_corpus_digest;
  if (!accumulators.empty()) json["kept"] = keep_json(accumulators);
  if (vectors) json["vectors"] = vectors_json(*vectors);
  return json;
}

Json CaptureInfo::described() const {
  Json json = to_json();
  if (!source) return json;
  Json from = Json::object();
  const auto state = [&](const char* key, const std::string& text) {
    if (!text.empty()) from[key] = text;
  };
  state("model", source->model);
  state("tokenizer", source->tokenizer);
  state("field", source->field);
  state("id", source->id);
  if (!source->config.empty()) from["config"] = source->config;
  if (!from.empty()) json["source"] = from;
  return json;
}

CaptureInfo CaptureInfo::from_json(const Json& json, const std::string& source) {
  const JsonReader file(json, source);
  if (file.count("format") != kMomentsFormat) {
    throw InputError("{}: moments format {}, expected {}", source,
                     shown_value(json.value("format", Json())), kMomentsFormat);
  }
  CaptureInfo info;
  info.numerics = file.has("numerics") ? file.count("numerics") : 1;
  info.weights = file.text("weights", "");
  info.head_weights = file.text("head_weights", "");
  if (file.has("config")) info.config = ModelDescription(json.at("config"), source);
  info.dtype = file.text("dtype", "");
  info.device = file.text("device", "");
  info.backend = backend_at(file);
  info.context = file.count("context");
  info.point = file.text("point", "");
  if (!info.point.empty() && info.point != kPostRope) {
    throw InputError("{}: key 'point': found {}, expected '{}'; capture it again", source,
                     shown_value(info.point), kPostRope);
  }
  info.heads = heads_at(file);
  info.blocks = file.count("blocks");
  if (file.has("random"))
    info.random = file.json().at("random").is_number_integer()
                      ? file.json().at("random").get<int64_t>()
                      : file.count("random");
  info.accumulators = kept_at(file, info.numerics);
  if (file.has("vectors")) {
    const JsonReader vectors = file.object("vectors");
    info.vectors = {vectors.text("sampling", ""), vectors.number("rate", 0),
                    vectors.count("bucket_size"), vectors.text("ids", "")};
  }
  if (file.has("chunk")) {
    const JsonReader chunk = file.object("chunk");
    info.texts = chunk.count("texts");
    info.chunk_blocks_digest = chunk.text("pieces", "");
    info.texts_with_id = chunk.has("named") ? chunk.count("named") : 1;
  }
  info.documents = file.count("documents");
  info.tokens = file.count("tokens");
  info.corpus = file.text("corpus", "");
  info.ropewalk = file.text("ropewalk", "");
  info.model = file.text("model", "");
  info.label = file.text("label", "");
  info.hub = file.text("hub", "");
  info.stated_weights = file.text("stated_weights", "");
  info.tokenizer = file.text("tokenizer", "");
  if (file.has("heads_seed")) info.heads_seed = static_cast<int64_t>(file.number("heads_seed"));
  info.skipped_short = file.count("skipped_short");
  info.skipped_empty = file.count("skipped_empty");
  info.full_corpus_digest = file.text("whole", "");
  if (file.has("shard")) {
    const auto [index, count] = pair_of(file.json().at("shard"), file, "shard");
    if (index >= count) throw InputError("{}: key 'shard': {} of {}", source, index, count);
    info.shard = Shard{index, count};
  }
  if (file.has("source")) {
    const JsonReader from = file.object("source");
    info.source = {from.text("model", ""), from.text("tokenizer", ""), from.text("field", ""),
                   from.text("id", ""), Json::object()};
    if (from.has("config")) info.source->config = from.object("config").json();
  }
  info.seconds = file.number("seconds", 0);
  info.moments = file.text("moments", "");
  if (file.has("vector_files")) {
    const JsonReader files = file.object("vector_files");
    info.vector_files = {files.count("bytes"), files.text("hash", "")};
  }
  return info;
}

Json CaptureInfo::identity() const {
  Json json{{"numerics", numerics},
            {"weights", weights},
            {"config", deciding_config(config.json(), context, random.has_value())},
            {"dtype", dtype},
            {"device", device},
            {"context", context},
            {"point", point},
            {"heads", heads_json(heads)},
            {"blocks", blocks}};
  if (random) json["random"] = *random;
  if (backend) json["backend"] = backend->to_json();
  if (texts > 0) {
    json["texts"] = texts;
    json["pieces"] = chunk_blocks_digest;
  }
  if (!accumulators.empty()) json["kept"] = keep_json(accumulators);
  if (vectors) json["vectors"] = vectors_json(*vectors);
  return json;
}

Json upgraded_identity(Json identity) {
  const auto kept = identity.find("kept");
  if (kept == identity.end() || !kept->is_array()) return identity;
  KeepRecords records;
  for (const Json& name : *kept) {
    if (name.is_string()) records[name.get<std::string>()].numerics = identity.value("numerics", 1);
  }
  *kept = keep_json(records);
  return identity;
}

void require_mergeable(const CaptureInfo& first, const std::string& first_name,
                       const CaptureInfo& other, const std::string& other_name) {
  const auto parts = [](const CaptureInfo& info) {
    Json json = info.identity();
    for (const char* key : {"vectors", "kept"}) json.erase(key);  // a merged capture may lack these
    json["tokenizer"] = info.tokenizer;
    if (!info.head_weights.empty()) json["head_weights"] = info.head_weights;
    // An old file says nothing more about them.
    if (info.weights.empty()) json["model"] = info.model;
    return json;
  };
  const Json mine = parts(first).flatten();
  const Json theirs = parts(other).flatten();
  for (const Json* json : {&mine, &theirs}) {
    for (const auto& [path, value] : json->items()) {
      const Json a = mine.value(path, Json());
      const Json b = theirs.value(path, Json());
      if (a == b) continue;
      std::string field = path.substr(1);
      std::replace(field.begin(), field.end(), '/', '.');
      if (field.starts_with("heads")) {
        throw InputError(
            "{} and {} cannot be merged: heads are not the same ({} and {} query heads)",
            first_name, other_name, first.heads.size(), other.heads.size());
      }
      throw InputError("{} and {} cannot be merged: {} is {} and {}", first_name, other_name, field,
                       shown_value(a), shown_value(b));
    }
  }
  if (!first.full_corpus_digest.empty() && !other.full_corpus_digest.empty() &&
      first.full_corpus_digest != other.full_corpus_digest) {
    throw InputError(
        "{} and {} cannot be merged: they are shards of different documents; was the corpus "
        "changed between them?",
        first_name, other_name);
  }
}

}  // namespace ropewalk
