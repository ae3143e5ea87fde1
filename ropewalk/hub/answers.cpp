#include "ropewalk/hub/answers.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace {

// The text under `key` of a JSON object; empty where there is none.
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

HubFile read_entry(const Json& entry, const std::string& source) {
  HubFile file;
  try {
    file.name = entry.at("path").get<std::string>();
    const Json lfs = entry.value("lfs", Json());
    const Json& stored = lfs.is_object() ? lfs : entry;  // large files are kept outside of git
    file.etag = plain_etag(stored.at("oid").get<std::string>());
    file.size = stored.at("size").is_number_integer() ? stored["size"].get<int64_t>() : -1;
  } catch (const Json::exception&) {
    file.size = -1;
  }
  if (file.size >= 0) return file;
  throw InputError("{}: lists a file without path, oid or size", source);
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
  for (const Json& entry : list) {
    if (entry.is_object() && text_of(entry, "type") == "file") {
      files.push_back(read_entry(entry, source));
    }
  }
  return files;
}

std::map<std::string, std::string> read_refs(const std::string& body, const std::string& source) {
  const Json json = parse_json(body, source);
  std::map<std::string, std::string> refs;
  for (const char* kind : {"tags", "branches"}) {
    const Json list = json.is_object() ? json.value(kind, Json::array()) : Json();
    if (!list.is_array()) throw InputError("{}: has no list of {}", source, kind);
    for (const Json& ref : list) {
      const std::string name = ref.is_object() ? text_of(ref, "name") : "";
      if (name.empty() || !is_commit(text_of(ref, "targetCommit"))) {
        throw InputError("{}: lists a revision without name or commit", source);
      }
      refs[name] = text_of(ref, "targetCommit");  // a branch wins over a tag of the same name
    }
  }
  return refs;
}

}  // namespace ropewalk
