#include "ropewalk/hub/answers.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {
namespace {

HubFile read_entry(const JsonReader& entry) {
  // Large files are kept outside of git.
  const bool large = entry.has("lfs") && entry.json()["lfs"].is_object();
  const JsonReader stored = large ? entry.object("lfs") : entry;
  if (!stored.has("size")) stored.refuse("size", "a whole number from 0");
  return {.name = entry.text("path"),
          .etag = plain_etag(stored.text("oid")),
          .size = stored.count("size")};
}

}  // namespace

std::string plain_etag(std::string etag) {
  if (etag.starts_with("W/")) etag.erase(0, 2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  std::string lower = etag;
  for (char& c : lower) c = c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c;
  return is_content_hash(lower) ? lower : etag;
}

std::string next_page(const HttpResponse& response) {
  const std::string link = response.header("link");
  const size_t open = link.find('<');
  const size_t close = link.find('>', open);
  if (close == std::string::npos || link.find("rel=\"next\"", close) == std::string::npos)
    return "";
  return link.substr(open + 1, close - open - 1);
}

std::vector<HubFile> read_tree(const std::string& body, const std::string& source) {
  const Json list = parse_json(body, source);
  if (!list.is_array()) throw InputError("{}: is not a list", source);
  std::vector<HubFile> files;
  for (const Json& object : list) {
    const bool is_file = object.is_object() && object.value("type", Json()) == "file";
    if (is_file) files.push_back(read_entry(JsonReader::of(object, source)));
  }
  return files;
}

std::map<std::string, std::string> read_refs(const std::string& body, const std::string& source) {
  const JsonReader answer(parse_json(body, source), source);
  std::map<std::string, std::string> refs;
  for (const char* kind : {"tags", "branches"}) {
    if (!answer.has(kind)) continue;
    for (const JsonReader& ref : answer.objects(kind)) {
      const std::string commit = ref.text("targetCommit");
      if (!is_commit(commit)) ref.refuse("targetCommit", "a commit of 40 hexadecimal digits");
      refs[ref.text("name")] = commit;  // a branch wins over a tag with its name
    }
  }
  return refs;
}

}  // namespace ropewalk
