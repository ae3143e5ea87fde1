#include "ropewalk/study/source/dataset_card.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::string message(const std::string& configs) {
  try {
    read_dataset_card("---\nconfigs:\n" + configs + "---\n", "card");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DatasetCard, WithoutAHeaderThereIsNothing) {
  for (const char* text : {"", "# Title\n", "---\nlicense: mit\n---\n", "---\nconfigs: [\n",
                           "x\n---\nconfigs: 3\n---\n"}) {
    EXPECT_TRUE(read_dataset_card(text, "card").empty()) << text;
  }
}

TEST(DatasetCard, PatternsByConfigurationAndSplit) {
  const auto configs = read_dataset_card(
      "---\r\nconfigs:\r\n- config_name: a\r\n  default: true\r\n  data_dir: d\r\n  data_files:\r\n"
      "  - split: test\r\n    path: [x/*, y.jsonl]\r\n  - {split: 7, path: z}\r\n- data_files: "
      "w*\r\n---\r\n",
      "card");
  ASSERT_EQ(configs.size(), 2);
  EXPECT_EQ(configs[0].name, "a");
  EXPECT_TRUE(configs[0].chosen);
  EXPECT_EQ(configs[0].folder, "d");
  ASSERT_EQ(configs[0].splits.size(), 2);
  EXPECT_EQ(configs[0].splits[0].second, (std::vector<std::string>{"x/*", "y.jsonl"}));
  EXPECT_EQ(configs[0].splits[1].first, "7");
  EXPECT_EQ(configs[1].name, "default");
  EXPECT_EQ(configs[1].splits[0].first, "train");
}

TEST(DatasetCard, PathsStayWithinTheRepository) {
  for (const char* path : {"../x", "../../../whoami/x", "a/../../x*", "/etc/x", ".."}) {
    const std::string expected = fmt::format(
        "card: its header contains the path '{}', which is outside the repository; refused", path);
    EXPECT_EQ(message(fmt::format("- {{data_files: '{}'}}\n", path)), expected);
    EXPECT_EQ(message(fmt::format("- {{data_files: [a, '{}']}}\n", path)), expected);
    EXPECT_EQ(message(fmt::format("- {{data_files: {{test: '{}'}}}}\n", path)), expected);
    EXPECT_EQ(message(fmt::format("- data_files: [{{split: test, path: '{}'}}]\n", path)),
              expected);
    EXPECT_EQ(message(fmt::format("- {{data_dir: '{}'}}\n", path)), expected);
  }
  const auto configs = read_dataset_card(
      "---\nconfigs:\n- {data_dir: ./v2/, data_files: ./x/*..jsonl}\n---\n", "card");
  EXPECT_EQ(configs[0].folder, "v2");
  EXPECT_EQ(configs[0].splits[0].second, std::vector<std::string>{"x/*..jsonl"});
}

TEST(DatasetCard, AnythingElseIsSaidInOneLine) {
  EXPECT_EQ(message("- 3\n"),
            "card: its header's configs: expected a map with config_name and data_files");
  EXPECT_NE(message("- {data_files: [{split: a}]}\n").find("data_files: expected patterns"),
            std::string::npos);
  EXPECT_NE(message("- {data_files: [[a]]}\n").find("data_files: expected patterns"),
            std::string::npos);
  EXPECT_NE(message("- {config_name: [a]}\n").find("config_name"), std::string::npos);
  EXPECT_NE(message("- {a: [\n").find("is not YAML"), std::string::npos);
  EXPECT_NE(message("- {a: \x01}\n").find("is not YAML"), std::string::npos);
  std::string bomb = "- data_files: &a [x, x, x, x, x, x, x, x, x, x]\n";
  bomb += "- {data_files: {";
  for (int i = 0; i < 20000; ++i) bomb += fmt::format("{}s{}: *a", i == 0 ? "" : ", ", i);
  EXPECT_NE(message(bomb + "}}\n").find("end of its header is missing"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
