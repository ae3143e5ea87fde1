#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/ablation/edit_name.h"
#include "ropewalk/analysis/ablation/set_name.h"
#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_set_name(text);
  } catch (const UsageError& error) {
    EXPECT_EQ(error.field(), "heads");
    return error.what();
  }
  return "";
}

std::string edit_refusal(const std::string& text) {
  try {
    parse_edit_name(text);
  } catch (const UsageError& error) {
    EXPECT_EQ(error.field(), "edit");
    return error.what();
  }
  return "";
}

TEST(SetName, Kinds) {
  EXPECT_EQ(parse_set_name("class:q-positional").head_class, HeadClass::q_positional);
  const SetName top = parse_set_name("top:dist_range:10%");
  EXPECT_EQ(top.kind, SetName::Kind::top);
  EXPECT_EQ(top.column, "dist_range");
  EXPECT_DOUBLE_EQ(top.share, 0.1);
  EXPECT_FALSE(top.by_kv);
  EXPECT_TRUE(top.chosen());
  const SetName bottom = parse_set_name("bottom:abs_r_k:2.5%:kv");
  EXPECT_EQ(bottom.kind, SetName::Kind::bottom);
  EXPECT_DOUBLE_EQ(bottom.share, 0.025);
  EXPECT_TRUE(bottom.by_kv);
  EXPECT_EQ(parse_set_name("layer:7").layer, 7);
  const SetName list = parse_set_name("3.1, 3.0,2.5,3.1");
  EXPECT_EQ(list.heads, (std::vector<QueryHead>{{2, 5}, {3, 0}, {3, 1}}));
  EXPECT_EQ(list.text, "3.1,3.0,2.5,3.1");
  EXPECT_FALSE(list.chosen());
}

TEST(SetName, Refused) {
  EXPECT_NE(refusal("").find("names no heads"), std::string::npos);
  EXPECT_NE(refusal("class:positional").find("expected one of position-dominated"),
            std::string::npos);
  EXPECT_NE(refusal("top:dist_rnge:10%").find("did you mean dist_range?"), std::string::npos);
  for (const char* text : {"top:dist_range:0%", "top:dist_range:-1%", "top:dist_range:101%",
                           "top:dist_range:nan%", "top:dist_range:10", "top:dist_range:%"}) {
    EXPECT_NE(refusal(text).find("expected a share"), std::string::npos) << text;
  }
  EXPECT_NE(refusal("top:dist_range").find("expected top:COLUMN:SHARE%"), std::string::npos);
  EXPECT_NE(refusal("bottom:dist_range:5%:q").find("expected bottom:"), std::string::npos);
  for (const char* text : {"layer:x", "layer:-1", "layer:99999999999"}) {
    EXPECT_NE(refusal(text).find("expected a layer"), std::string::npos) << text;
  }
  for (const char* text : {"3", "3.", ".3", "3.0,", "L3H0", "3.-1", "everything"}) {
    EXPECT_NE(refusal(text).find("is not a set of heads"), std::string::npos) << text;
  }
}

TEST(EditName, Kinds) {
  using Kind = EditName::Kind;
  EXPECT_TRUE(parse_edit_name("distance").keep_mass);
  EXPECT_FALSE(parse_edit_name("distance:mean").keep_mass);
  EXPECT_EQ(parse_edit_name("window:128").number, 128);
  EXPECT_EQ(parse_edit_name("still:4096").kind, Kind::still);
  EXPECT_TRUE(std::isinf(parse_edit_name("zero-band:inf").number));
  EXPECT_TRUE(parse_edit_name("flatten").q && parse_edit_name("flatten").k);
  EXPECT_FALSE(parse_edit_name("flatten:k").q);
  EXPECT_FALSE(parse_edit_name("flatten:q").k);
  EXPECT_TRUE(parse_edit_name("head").needs_others());
  EXPECT_TRUE(parse_edit_name("head:zero").zero);
  EXPECT_EQ(parse_edit_names({"head", "axis", "head"}).size(), 2u);
}

TEST(EditName, Refused) {
  for (const char* text : {"window:0", "window:-3", "window:", "window:1.5", "window:x"}) {
    EXPECT_NE(edit_refusal(text).find("at least 1"), std::string::npos) << text;
  }
  for (const char* text : {"still:0", "still:-1", "still:nan", "zero-band:x"}) {
    EXPECT_NE(edit_refusal(text).find("wavelength"), std::string::npos) << text;
  }
  for (const char* text : {"", "distance:x", "window", "still", "axis:q", "flatten:v", "prune"}) {
    EXPECT_NE(edit_refusal(text).find("is not an edit"), std::string::npos) << text;
  }
  EXPECT_THROW(parse_edit_names({}), UsageError);
}

}  // namespace
}  // namespace ropewalk
