#include "ps/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace shoal {
namespace {

using testing::HasSubstr;

template <class F>
std::string option_refused(F parse, const char* text) {
  try {
    parse(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(FetchText, IsReadAsItIsWritten) {
  for (const char* const text : {"1", "4", "stale", "eager"})
    EXPECT_EQ(to_string(parse_fetch(text)), text);
  EXPECT_EQ(option_refused(parse_fetch, "0"),
            "--fetch 0: steps (steps between two reads): expected a whole number from 1 on, not "
            "'0'; or take stale or eager");
  for (const char* const text : {"", "-1", "4:5", "stale:1", "4294967296"})
    EXPECT_THAT(option_refused(parse_fetch, text), HasSubstr(text)) << text;
  EXPECT_EQ(steps_of(parse_fetch("4")), 4U);
  EXPECT_EQ(steps_of(parse_fetch("stale")), 1U);
  EXPECT_TRUE(reads_when_stale(parse_fetch("eager")));
}

TEST(CompensationText, IsReadAsItIsWritten) {
  for (const char* const text : {"0", "0.04", "adaptive:2"})
    EXPECT_EQ(to_string(parse_compensation(text)), text);
  for (const char* const text : {"", "-1", "nan", "adaptive", "adaptive:0", "adaptive:", "x"})
    EXPECT_THAT(option_refused(parse_compensation, text), HasSubstr("--compensate ")) << text;
  EXPECT_FALSE(compensates(Compensation()));
  EXPECT_TRUE(compensates(parse_compensation("adaptive:2")));
}

TEST(ParameterServerOptions, EachParameterReadsWhatItWrites) {
  ParameterServerOptions options;
  std::set<std::string_view> names;
  for (const Setting& setting : settings_of(options)) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_TRUE(setting.name == "encode-pulls" || !setting.range.empty() || setting.is_switch)
        << setting.name;
    for (const std::string& value : setting.values) {
      setting.set(value);
      EXPECT_EQ(setting.text(), value) << setting.name;
    }
    const std::string text = setting.text();
    EXPECT_THROW(setting.set("nothing like it"), ConfigError) << setting.name;
    EXPECT_EQ(setting.text(), text) << setting.name << " is as it was";
  }
  EXPECT_EQ(names.size(), 16U);
}

}  // namespace
}  // namespace shoal
