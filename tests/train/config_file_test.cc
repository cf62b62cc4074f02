#include "train/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace shoal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ConfigFile, IsReadAsAFlatListInTheOrderOfTheFile) {
  const auto entries = parse_config(
      "workers = 4\n"
      "eta = 1.5\n"
      "codec.topk.ratio = 0.01\n"
      "[data]\n"
      "path = 'a \"b\"'\n"
      "shuffle = true\n"
      "files = [\"x\", 'y', 3, 0.5]\n"
      "inner = { k = -1 }\n",
      "run.toml");
  std::vector<std::string> texts;
  for (const ConfigEntry& e : entries)
    texts.push_back(fmt::format("{}:{} {} = {}", e.line, e.column, e.key, to_text(e.value)));
  EXPECT_THAT(texts,
              ElementsAre("1:11 workers = 4", "2:7 eta = 1.5", "3:20 codec.topk.ratio = 0.01",
                          R"(5:8 data.path = "a \"b\"")", "6:11 data.shuffle = true",
                          R"(7:9 data.files = ["x", "y", "3", "0.5"])", "8:15 data.inner.k = -1"));
}

std::string problem_with(std::string_view text) {
  try {
    parse_config(text, "run.toml");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

TEST(ConfigFile, MistakesAreNamedWithLineAndColumn) {
  EXPECT_THAT(problem_with("a = 1\nb = \n"), testing::StartsWith("run.toml:2:"));
  EXPECT_THAT(problem_with("a = 1\na = 2\n"), testing::StartsWith("run.toml:2:"));
  EXPECT_THAT(problem_with("a = 2020-01-01\n"),
              testing::AllOf(testing::StartsWith("run.toml:1:5: a is a date"), HasSubstr("list")));
  EXPECT_THAT(problem_with("\na = [[1]]\n"), testing::StartsWith("run.toml:2:6: a is a list"));
  EXPECT_THAT(problem_with("[[a]]\nb = 1\n"), HasSubstr("a table inside a list"));
  EXPECT_THAT(problem_with("\"a.b\" = 1\n[a]\nb = 2\n"), HasSubstr("a.b is set twice"));
  EXPECT_THAT(problem_with("a = \"\xff\"\n"), testing::StartsWith("run.toml:1:"));
  EXPECT_THAT(problem_with("a = " + std::string(100'000, '[')), testing::StartsWith("run.toml:1:"));
  EXPECT_EQ(problem_with(""), "");
}

TEST(ConfigFile, WhatIsWrittenIsReadAgain) {
  std::vector<ConfigEntry> entries;
  const auto add = [&](std::string key, ConfigValue value) {
    ConfigEntry entry;
    entry.key = std::move(key);
    entry.value = std::move(value);
    entries.push_back(std::move(entry));
  };
  add("like", std::string("allreduce"));
  add("codec.topk.ratio", 0.01);
  add("workers", std::int64_t{4});
  add("codec.name", std::string("tab\t\"quote\" \\ \n é\x7f"));
  add("codec.topk.momentum", 1e300);
  add("data.whole", 2.0);
  add("data.limit", std::numeric_limits<double>::infinity());
  add("data.shuffle", false);
  add("data.files", std::vector<std::string>{"a", "b,c"});
  add("data.none", std::vector<std::string>{});
  add("odd key.é", std::int64_t{-5});
  const std::string text = config_text(entries);
  EXPECT_THAT(text, testing::StartsWith("like = \"allreduce\"\nworkers = 4\n\n[codec.topk]\n"
                                        "ratio = 0.01\nmomentum = 1e+300\n\n[codec]\n"));
  const auto again = parse_config(text, "config.toml");
  ASSERT_EQ(again.size(), entries.size());
  for (const ConfigEntry& entry : entries) {
    const auto found = std::ranges::find(again, entry.key, &ConfigEntry::key);
    ASSERT_NE(found, again.end()) << entry.key;
    EXPECT_EQ(found->value, entry.value) << entry.key;
  }
  EXPECT_EQ(config_text(again), text);
}

}  // namespace
}  // namespace shoal
