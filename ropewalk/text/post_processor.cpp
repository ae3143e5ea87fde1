#include "ropewalk/text/post_processor.h"

#include <optional>

namespace ropewalk {
namespace {

constexpr std::string_view kSupported =
    "Sequence, TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel";
constexpr int kMaxDepth = 16;

int32_t read_id(const JsonPart& part) {
  return static_cast<int32_t>(part.integer(0, INT32_MAX - 1));
}

void append_special_token(const JsonPart& tokens, const JsonPart& name, std::vector<int32_t>& out) {
  const auto entry = tokens.find(name.string());
  if (!entry) name.refuse(fmt::format("'{}' is not among special_tokens", name.string()));
  const JsonPart ids = entry->at("ids");
  for (size_t i = 0; i < ids.size(); ++i) out.push_back(read_id(ids.item(i)));
}

PostProcessor read_template(const JsonPart& part) {
  part.allow_only({"type", "single", "pair", "special_tokens"});
  PostProcessor result;
  bool has_text = false;
  const JsonPart pieces = part.at("single");
  for (size_t i = 0; i < pieces.size(); ++i) {
    const JsonPart piece = pieces.item(i);
    piece.allow_only({"Sequence", "SpecialToken"});
    if (const auto sequence = piece.find("Sequence")) {
      const JsonPart id = sequence->at("id");
      if (id.string() != "A") id.refuse_value(id.string(), "A (a single text has no other)");
      if (has_text) piece.refuse("the text appears twice");
      has_text = true;
    } else {
      append_special_token(part.at("special_tokens"), piece.at("SpecialToken").at("id"),
                           has_text ? result.suffix : result.prefix);
    }
  }
  if (!has_text) pieces.refuse("the text (Sequence A) is missing");
  return result;
}

// Nothing where the section leaves ids alone.
std::optional<PostProcessor> read(const JsonPart& part, int depth) {
  if (depth > kMaxDepth) part.refuse("sequences are nested too deeply");
  const std::string type = part.at("type").string();
  if (type == "ByteLevel") return std::nullopt;  // moves offsets only
  if (type == "TemplateProcessing") return read_template(part);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    return PostProcessor{{read_id(part.at("cls").item(1))}, {read_id(part.at("sep").item(1))}};
  }
  if (type != "Sequence") part.at("type").refuse_value(type, kSupported);
  part.allow_only({"type", "processors"});
  const JsonPart steps = part.at("processors");
  std::optional<PostProcessor> result;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto step = read(steps.item(i), depth + 1);
    // The library hands the parts of the first to the second as if they were several texts.
    if (step && result) steps.item(i).refuse_unsupported("a second processor that adds tokens");
    if (step) result = step;
  }
  return result;
}

}  // namespace

PostProcessor read_post_processor(const JsonPart& part) {
  return read(part, 0).value_or(PostProcessor{});
}

}  // namespace ropewalk
