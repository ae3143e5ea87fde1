#include "ropewalk/analysis/ablation/effect_reader.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr const char* kSets =
    "checkpoint,set,edit,draw,heads,members\n'=a,top:r2cv_k:10%,window:8,,2,\"0.1,1.3\"\n"
    "'=a,top:r2cv_k:10%,window:8,1,2,\"0.2,1.0\"\n";

TEST(EffectReader, HaveTheHeadsOfTheirSets) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_effects(folder.path()).is_null()) << "nothing was edited";
  folder.write("ablate_controls.csv", kSets);
  EXPECT_TRUE(read_effects(folder.path()).is_null());
  folder.write(
      "ablate.csv",
      "checkpoint,set,edit,dloss,dloss_se,control\n'=a,top:r2cv_k:10%,window:8,0.25,0.5,\n");
  EXPECT_EQ(read_effects(folder.path()), Json::parse(R"([{"checkpoint": "=a", "control": null,
      "dloss": 0.25, "edit": "window:8", "heads": [[0, 1], [1, 3]], "se": 0.5,
      "set": "top:r2cv_k:10%"}])"));
}

TEST(EffectReader, NameWhatIsWrong) {
  const auto fails = [](const std::string& sets, const std::string& table) -> std::string {
    const TemporaryFolder folder;
    folder.write("ablate_controls.csv", sets);
    folder.write("ablate.csv", table);
    try {
      read_effects(folder.path());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string header = "checkpoint,set,edit,dloss\n";
  const auto says = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(fails("", header), "ablate_controls.csv: is empty"));
  EXPECT_TRUE(says(fails("checkpoint,set,draw\na,s,\n", header), "'members'"));
  EXPECT_TRUE(says(fails("checkpoint,set,draw,members\na,s,,3-1\n", header), "such as 3.0,3.1"));
  EXPECT_TRUE(says(fails("checkpoint,set,draw,members\na,s,,\n", header), "such as 3.0,3.1"));
  EXPECT_TRUE(says(fails(kSets, header + "b,top:r2cv_k:10%,head,1\n"), "a set of ablate_controls"));
  EXPECT_TRUE(says(fails(kSets, header + "'=a,top:r2cv_k:10%,head,many\n"), "dloss"));
}

}  // namespace
}  // namespace ropewalk
