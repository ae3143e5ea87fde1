#include "ropewalk/hub/cache.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/hub/fetched.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

const HubRepository kModel{HubRepository::Kind::model, "org/name"};
const std::string kCommit(40, 'a');
const std::string kOther(40, 'b');
const std::string kEtag(64, '1');

// A cache with one blob that belongs to two commits.
class HubCacheTest : public testing::Test {
 protected:
  HubCacheTest() : cache(folder.path() / "hub", kModel) {
    fs::create_directories(cache.blob(kEtag).parent_path());
    folder.write("hub/models--org--name/blobs/" + kEtag, "bytes");
    note_fetched(cache.blob(kEtag), cache.blob(kEtag));
    cache.link(kCommit, "model.safetensors", kEtag);
    cache.link(kOther, "deep/er/model.safetensors", kEtag);
  }

  TemporaryFolder folder;
  HubCache cache;
};

TEST(HubNames, Ids) {
  for (const char* id : {"org/name", "HuggingFaceTB/SmolLM3-3B", "a_b/c.d-e"}) {
    EXPECT_TRUE(is_hub_id(id)) << id;
  }
  for (const char* id : {"", "name", "/name", "org/", "a/b/c", "../name", "org/..", "./name",
                         "org/na me", "org--x/name", "/tmp/x", "org/name@main", "-a/b"}) {
    EXPECT_FALSE(is_hub_id(id)) << id;
  }
}

TEST(HubNames, Places) {
  EXPECT_EQ(kModel.folder(), "models--org--name");
  EXPECT_EQ(kModel.page(), "/org/name");
  EXPECT_EQ(kModel.api(), "/api/models/org/name");
  const HubRepository dataset{HubRepository::Kind::dataset, "org/name"};
  EXPECT_EQ(dataset.folder(), "datasets--org--name");
  EXPECT_EQ(dataset.page(), "/datasets/org/name");
  EXPECT_EQ(dataset.api(), "/api/datasets/org/name");
}

TEST_F(HubCacheTest, LinksAreRelative) {
  EXPECT_TRUE(cache.has(kCommit, "model.safetensors"));
  EXPECT_EQ(fs::read_symlink(cache.file(kCommit, "model.safetensors")), "../../blobs/" + kEtag);
  EXPECT_EQ(fs::read_symlink(cache.file(kOther, "deep/er/model.safetensors")),
            "../../../../blobs/" + kEtag);
  EXPECT_TRUE(cache.has(kOther, "deep/er/model.safetensors"));
  cache.link(kCommit, "model.safetensors", kEtag);  // linking again is not an error
  cache.link(kCommit, "model.safetensors", "another");
  EXPECT_FALSE(cache.has(kCommit, "model.safetensors")) << "whose bytes are not there";
}

TEST_F(HubCacheTest, RemovesBytesWithTheirLastName) {
  EXPECT_EQ(cache.remove(kCommit, "model.safetensors"), 0);
  EXPECT_TRUE(cache.has(kOther, "deep/er/model.safetensors"));
  EXPECT_EQ(cache.remove(kOther, "deep/er/model.safetensors"), 5);
  EXPECT_FALSE(fs::exists(cache.blob(kEtag)));
  EXPECT_EQ(cache.remove(kOther, "deep/er/model.safetensors"), std::nullopt);
  EXPECT_TRUE(fs::is_empty(folder.path() / "hub/models--org--name/.ropewalk"));
}

TEST_F(HubCacheTest, RemovesNothingOutsideOfItself) {
  const fs::path outside = folder.write("outside", "precious");
  const fs::path link = cache.file(kCommit, "sly.safetensors");
  fs::create_symlink(outside, link);
  EXPECT_EQ(cache.remove(kCommit, "sly.safetensors"), std::nullopt);
  // Other programs store blobs for many repositories in this way.
  const std::string shared(64, '2');
  fs::create_symlink(outside, cache.blob(shared));
  note_fetched(cache.blob(shared), outside);
  cache.link(kCommit, "shared.safetensors", shared);
  EXPECT_EQ(cache.remove(kCommit, "shared.safetensors"), std::nullopt);
  EXPECT_TRUE(fs::exists(link) && cache.has(kCommit, "shared.safetensors"));
}

TEST_F(HubCacheTest, RemovesWhatItDownloadedAlone) {
  // Blobs of another program: one that we never noted, one in the snapshot itself, and one that was
  // downloaded again after we removed ours.
  const std::string theirs(64, '3');
  folder.write("hub/models--org--name/blobs/" + theirs, "bytes");
  cache.link(kCommit, "theirs.safetensors", theirs);
  EXPECT_EQ(cache.remove(kCommit, "theirs.safetensors"), std::nullopt);
  folder.write("hub/models--org--name/snapshots/" + kCommit + "/plain.safetensors", "bytes");
  EXPECT_EQ(cache.remove(kCommit, "plain.safetensors"), std::nullopt);
  fs::rename(cache.blob(kEtag), folder.path() / "gone");
  folder.write("hub/models--org--name/blobs/" + kEtag, "bytes");
  EXPECT_EQ(cache.remove(kCommit, "model.safetensors"), std::nullopt);
  for (const char* name : {"theirs", "plain", "model"}) {
    EXPECT_TRUE(cache.has(kCommit, std::string(name) + ".safetensors")) << name;
  }
  // A damaged note is ignored.
  folder.write("hub/models--org--name/.ropewalk/" + kEtag, std::string(5000, '7'));
  EXPECT_EQ(cache.remove(kCommit, "model.safetensors"), std::nullopt);
}

TEST_F(HubCacheTest, LinksReplaceLinksAlone) {
  const fs::path path = cache.file(kCommit, "plain.safetensors");
  folder.write("hub/models--org--name/snapshots/" + kCommit + "/plain.safetensors", "theirs");
  EXPECT_THROW(cache.link(kCommit, "plain.safetensors", kEtag), SystemError);
  EXPECT_EQ(fs::file_size(path), 6);
}

TEST_F(HubCacheTest, RemembersCommits) {
  EXPECT_EQ(cache.commit_of("main"), "");
  cache.remember("main", kCommit);
  cache.remember("refs/pr/1", kOther);
  EXPECT_EQ(cache.commit_of("main"), kCommit);
  EXPECT_EQ(cache.commit_of("refs/pr/1"), kOther);
  EXPECT_EQ(cache.commit_of(kCommit), kCommit);
  folder.write("hub/models--org--name/refs/odd", "../../elsewhere");
  EXPECT_EQ(cache.commit_of("odd"), "");
  const std::map<std::string, std::string> refs{{"main", kCommit}, {"refs/pr/1", kOther}};
  EXPECT_EQ(cache.refs(), refs);
}

TEST_F(HubCacheTest, RefusesNamesThatLeadOut) {
  for (const char* name : {"", "..", "../x", "a/../../x", "/etc/passwd", "a/./b", "a\\b"}) {
    EXPECT_THROW(cache.file(kCommit, name), InputError) << name;
    EXPECT_THROW(cache.remember(name, kCommit), InputError) << name;
  }
  EXPECT_THROW(cache.file(kCommit, std::string("a\0b", 3)), InputError);
  for (const char* etag : {"", "..", "../x", "a/b", ".hidden"}) {
    EXPECT_THROW(cache.blob(etag), InputError) << etag;
    EXPECT_THROW(HubLock(cache, etag, {}), InputError) << etag;
  }
  for (const char* commit : {"", "main", "..", "../../../x"}) {
    EXPECT_THROW(cache.snapshot(commit), InputError) << commit;
    EXPECT_THROW(cache.remember("main", commit), InputError) << commit;
  }
}

}  // namespace
}  // namespace ropewalk
