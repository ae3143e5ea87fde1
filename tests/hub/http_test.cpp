#include "ropewalk/hub/http.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(Http, ReadsAddresses) {
  const HttpUrl url = parse_url("HTTPS://Hub.Example.org/a/b?c");
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "hub.example.org");
  EXPECT_EQ(url.port, "443");
  EXPECT_TRUE(url.same_host(parse_url("https://hub.example.org:443")));
  EXPECT_FALSE(url.same_host(parse_url("http://hub.example.org")));
  EXPECT_FALSE(url.same_host(parse_url("https://hub.example.org:444")));
  EXPECT_FALSE(url.same_host(parse_url("https://hub.example.org.evil.example.org")));
}

TEST(Http, RefusesOtherAddresses) {
  for (const char* url :
       {"", "nothing", "file:///etc/passwd", "ftp://example.org", "https://",
        "https://example.org:word@example.org", "https://example.org@example.org"}) {
    EXPECT_THROW(parse_url(url), InputError) << url;
  }
}

TEST(Http, KnowsLoopback) {
  for (const char* url :
       {"http://localhost:1", "http://127.0.0.1", "http://127.9.9.9:80", "http://[::1]:8080"}) {
    EXPECT_TRUE(parse_url(url).is_loopback()) << url;
  }
  for (const char* url : {"http://127.0.0.1.example.org", "http://localhost.example.org",
                          "http://example.org", "http://10.0.0.1"}) {
    EXPECT_FALSE(parse_url(url).is_loopback()) << url;
  }
}

TEST(Http, JoinsAddresses) {
  const std::string base = "https://example.org/a/b?c";
  EXPECT_EQ(join_url(base, "/d"), "https://example.org/d");
  EXPECT_EQ(join_url(base, "d?e"), "https://example.org/a/d?e");
  EXPECT_EQ(join_url(base, "http://other.example.org/x"), "http://other.example.org/x");
  EXPECT_EQ(join_url(base, "//other.example.org/x"), "https://other.example.org/x");
}

TEST(Http, EncodesNames) {
  EXPECT_EQ(encode_url("refs/pr/1"), "refs%2Fpr%2F1");
  EXPECT_EQ(encode_url("a b+c?#%.safetensors"), "a%20b%2Bc%3F%23%25.safetensors");
}

TEST(Http, ShowsNoSecrets) {
  EXPECT_EQ(printable_url("https://example.org/a?Signature=secret"), "https://example.org/a");
  EXPECT_EQ(printable_url("https://example.org:secret@example.org/a@b"), "https://example.org/a@b");
  EXPECT_EQ(printable_url("https://example.org/a@b"), "https://example.org/a@b");
  EXPECT_EQ(printable_url("https://example.org:secret@example.org"), "https://example.org");
}

}  // namespace
}  // namespace ropewalk
