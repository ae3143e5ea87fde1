#include "ropewalk/hub/answers.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

const std::string kSha256(64, 'a');
const std::string kSha1(40, 'b');

TEST(HubAnswers, Etags) {
  for (const std::string& hash : {kSha256, kSha1}) {
    std::string upper = hash;
    for (char& c : upper) c = static_cast<char>(c - 32);
    for (const std::string& etag : {hash, '"' + hash + '"', "W/\"" + hash + '"', upper}) {
      EXPECT_EQ(plain_etag(etag), hash) << etag;
    }
  }
  // Etags that are not hashes are not changed.
  EXPECT_EQ(plain_etag("\"ABC-7\""), "ABC-7");
  EXPECT_EQ(plain_etag(std::string(41, 'A')), std::string(41, 'A'));
  EXPECT_EQ(plain_etag(""), "");
}

TEST(HubAnswers, Trees) {
  const auto files = read_tree(
      R"([{"type": "directory", "path": "d"}, 5, {"type": 5},
          {"type": "file", "path": "a", "oid": "x", "size": 3},
          {"type": "file", "path": "b", "oid": "x", "size": 3, "lfs": {"oid": ")" +
          kSha256 + R"(", "size": 9}}])",
      "list");
  ASSERT_EQ(files.size(), 2);
  EXPECT_EQ(files[0].size, 3);
  EXPECT_EQ(files[1].etag, kSha256);
  EXPECT_EQ(files[1].size, 9);
  for (const char* wrong :
       {"{}", "null", R"([{"type": "file"}])",
        R"([{"type": "file", "path": 5, "oid": "x", "size": 3}])",
        R"([{"type": "file", "path": "a", "oid": [], "size": 3}])",
        R"([{"type": "file", "path": "a", "oid": "x", "size": "3"}])",
        R"([{"type": "file", "path": "a", "oid": "x", "size": -3}])",
        R"([{"type": "file", "path": "a", "oid": "x", "size": 1e300}])",
        R"([{"type": "file", "path": "a", "oid": "x", "size": 18446744073709551615}])",
        R"([{"type": "file", "path": "a", "oid": "x", "size": 3, "lfs": {}}])"}) {
    EXPECT_THROW(read_tree(wrong, "list"), InputError) << wrong;
  }
}

TEST(HubAnswers, Refs) {
  const std::string at = R"("targetCommit": ")" + kSha1 + '"';
  const std::string one = R"({"name": "main", )" + at + "}";
  const auto refs = read_refs("{\"branches\": [" + one + "]}", "refs");
  EXPECT_EQ(refs, (std::map<std::string, std::string>{{"main", kSha1}}));
  for (const std::string& entry :
       {std::string("5"), std::string("{}"), "{" + at + "}", "{\"name\": 5, " + at + "}",
        std::string(R"({"name": "main"})"), std::string(R"({"name": "main", "targetCommit": 7})"),
        std::string(R"({"name": "main", "targetCommit": "../x"})")}) {
    EXPECT_THROW(read_refs("{\"branches\": [" + entry + "]}", "refs"), InputError) << entry;
  }
  EXPECT_THROW(read_refs(R"({"tags": 5})", "refs"), InputError);
  EXPECT_THROW(read_refs("[]", "refs"), InputError);
}

}  // namespace
}  // namespace ropewalk
