#include "ropewalk/analysis/analyze/vectors_facts.h"

#include <charconv>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The published captures state their head counts in the text of README.md.
VectorsFacts read_published_facts(const fs::path& file) {
  const std::string text = read_text_file(file, int64_t{16} << 20);
  // The number after a key. Between them only punctuation of a list, a table or a setting may
  // stand.
  const auto find = [&](std::string_view key) -> int64_t {
    for (size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
      const size_t begin = text.find_first_not_of("`\"'*:|= \t\r\n", at + key.size());
      if (begin == text.npos) break;
      int64_t number = 0;
      const auto read = std::from_chars(text.data() + begin, text.data() + text.size(), number);
      if (read.ec == std::errc() && number > 0) return number;
    }
    return 0;
  };
  const int64_t queries = find("head_sampling_num_query_heads");
  const int64_t keys = find("head_sampling_num_key_heads");
  VectorsFacts facts;
  if (queries > 0 && keys > 0) facts = {queries / keys, queries, keys, {}};
  return facts;
}

}  // namespace

VectorsFacts read_vectors_facts(const fs::path& folder, std::optional<int64_t> kv_group) {
  VectorsFacts facts;
  std::error_code ignored;
  for (const fs::path& near : {folder, fs::absolute(folder).lexically_normal().parent_path()}) {
    if (facts.group == 0 && fs::exists(near / "capture.json", ignored)) {
      const fs::path file = near / "capture.json";
      facts.capture =
          capture_facts(CaptureInfo::from_json(read_json_file(file), file.string()), file.string());
      facts.group = facts.capture->group();
      facts.n_q_heads = facts.capture->origin.n_q_heads;
      facts.n_kv_heads = facts.capture->origin.n_kv_heads;
    } else if (facts.group == 0 && fs::exists(near / "README.md", ignored)) {
      facts = read_published_facts(near / "README.md");
    }
  }
  if (kv_group) facts.group = *kv_group;
  if (facts.group < 1) {
    throw InputError(
        "{}: the number of query heads per key head is unknown; add --kv-group N (query heads / "
        "key heads of the model)",
        folder.string());
  }
  return facts;
}

}  // namespace ropewalk
