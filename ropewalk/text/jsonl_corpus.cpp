#include <limits>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/line_reader.h"

namespace ropewalk {
namespace {

// A value's kind, for messages: "a number", "a list".
std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "true or false";
    case Json::value_t::number_float:
      return "a number with a fraction or beyond 64 bits";
    default:
      return "an integer";
  }
}

// The value where it is an integer that fits int64.
std::optional<int64_t> as_int64(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return std::nullopt;
  }
  return value.get<int64_t>();
}

std::vector<int32_t> tokens_of(const Json& list, const std::string& where) {
  std::vector<int32_t> tokens;
  tokens.reserve(list.size());
  for (const Json& value : list) {
    const auto token = as_int64(value);
    if (!token) {
      throw InputError("{}: token {} is {}; expected an integer id", where, tokens.size(),
                       value.is_number() ? value.dump() : std::string(kind_of(value)));
    }
    tokens.push_back(checked_token(*token, tokens.size(), where));
  }
  return tokens;
}

class JsonlCorpus : public CorpusReader {
 public:
  JsonlCorpus(LineReader lines, CorpusOptions options)
      : lines_(std::move(lines)), options_(std::move(options)) {}

  std::string name() const override { return lines_.name(); }

  std::optional<CorpusEntry> next() override {
    std::string line;
    do {
      if (!lines_.next(line)) return std::nullopt;
    } while (line.find_first_not_of(" \t\r") == std::string::npos);
    CorpusEntry entry;
    entry.where = lines_.where();
    require_utf8(line, entry.where);  // checked here because the parser does not tell the offset
    Json object = parse_json(line, entry.where);
    if (!object.is_object()) {
      throw InputError("{}: holds {}; expected an object such as {{\"text\": \"...\"}}",
                       entry.where, kind_of(object));
    }
    read_content(object, entry);
    read_id(object, entry);
    return entry;
  }

 private:
  void read_content(Json& object, CorpusEntry& entry) const {
    std::string field = options_.field;
    if (field.empty())
      field = !object.contains("text") && object.contains("tokens") ? "tokens" : "text";
    const auto found = object.find(field);
    if (found == object.end()) {
      throw InputError("{}: has no field {}; it has {}{}", entry.where,
                       options_.field.empty() ? "'text' or 'tokens'" : fmt::format("'{}'", field),
                       names_of(object),
                       options_.field.empty() ? "; name one as the corpus's field" : "");
    }
    const FieldContent content = field_content(options_, field);
    if (found->is_null()) {
      entry.content = {};
    } else if (found->is_string() && content != FieldContent::tokens) {
      entry.content = checked_text(std::move(found->get_ref<std::string&>()), entry.where);
    } else if (found->is_array() && content != FieldContent::text) {
      entry.content = tokens_of(*found, entry.where);
    } else {
      throw InputError("{}: '{}' is {}; expected {}", entry.where, field, kind_of(*found),
                       content == FieldContent::text     ? "a string"
                       : content == FieldContent::tokens ? "a list of token ids"
                                                         : "a string or a list of token ids");
    }
  }

  void read_id(const Json& object, CorpusEntry& entry) const {
    const std::string field = options_.id.empty() ? "id" : options_.id;
    const auto found = object.find(field);
    if (found == object.end()) {
      if (options_.id.empty()) return;
      throw InputError("{}: has no id field '{}'; it has {}", entry.where, field, names_of(object));
    }
    if (found->is_string()) {
      entry.id = found->get<std::string>();
    } else if (const auto number = as_int64(*found)) {
      entry.id = *number;
    } else if (!options_.id.empty()) {
      throw InputError("{}: id '{}' is {}; expected a 64-bit integer or a string{}", entry.where,
                       field, found->is_number() ? found->dump() : std::string(kind_of(*found)),
                       kWithoutIds);
    }
  }

  static std::string names_of(const Json& object) {
    std::vector<std::string> names;
    for (const auto& item : object.items()) names.push_back(item.key());
    return quoted_list(names);
  }

  LineReader lines_;
  CorpusOptions options_;
};

}  // namespace

std::unique_ptr<CorpusReader> open_jsonl_corpus(const std::filesystem::path& path,
                                                Compression compression,
                                                const CorpusOptions& options) {
  return open_jsonl_corpus(open_source(path, compression), path.string(), options);
}

std::unique_ptr<CorpusReader> open_jsonl_corpus(std::unique_ptr<ByteSource> source,
                                                const std::string& name,
                                                const CorpusOptions& options) {
  return std::make_unique<JsonlCorpus>(LineReader(std::move(source), name), options);
}

}  // namespace ropewalk
