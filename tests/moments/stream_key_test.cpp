#include "ropewalk/moments/stream_key.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(StreamKey, NamesAndParses) {
  EXPECT_EQ(stream_name({3, 11, StreamKind::query}), "l03h11q");
  EXPECT_EQ(stream_name({100, 0, StreamKind::key}), "l100h00k");
  for (const StreamKey& key :
       {StreamKey{0, 0, StreamKind::key}, StreamKey{125, 127, StreamKind::query}}) {
    EXPECT_EQ(parse_stream_name(stream_name(key)), key);
  }
  EXPECT_EQ(parse_stream_name("l1h002k"), (StreamKey{1, 2, StreamKind::key}));
}

TEST(StreamKey, RefusesOtherNames) {
  for (const char* name : {"", "l", "l1", "l1h", "l1h2", "l1h2v", "l1h2qq", "lh2q", "l-1h2q",
                           "l1h-2q", "l+1h2q", "l 1h2q", "x1h2q", "l99999999999h2q", "README.md"}) {
    EXPECT_FALSE(parse_stream_name(name)) << name;
  }
}

}  // namespace
}  // namespace ropewalk
