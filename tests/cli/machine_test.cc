#include "cli/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace shoal {
namespace {

MachineFact fact_about(const std::string& subject) {
  const auto facts = examine_machine("/nonexistent/bin/shoal");
  const auto found = std::ranges::find(facts, subject, &MachineFact::subject);
  return found == facts.end() ? MachineFact{} : *found;
}

TEST(Machine, has_a_cpu_memory_and_the_system_calls_of_the_runtime) {
  EXPECT_THAT(fact_about("cpu").value, testing::ContainsRegex("[1-9][0-9]* cores"));
  EXPECT_THAT(fact_about("memory").value, testing::MatchesRegex("[0-9.]+ GiB, [0-9.]+ available"));
  EXPECT_THAT(fact_about("kernel").value, testing::StartsWith("Linux "));
  EXPECT_EQ(fact_about("memfd").finding, Finding::kOk);
  EXPECT_EQ(fact_about("eventfd").finding, Finding::kOk);
}

TEST(Machine, missing_plugin_comes_with_its_package) {
  const auto torch = fact_about("libtorch");
  EXPECT_EQ(torch.finding, Finding::kMissing);
  EXPECT_THAT(torch.value, testing::HasSubstr("/nonexistent/lib/shoal/shoal_torch.so"));
  EXPECT_THAT(torch.remedy, testing::StartsWith("apt-get install libtorch-dev"));
}

TEST(Machine, everything_missing_has_a_remedy_and_nothing_else_has_one) {
  for (const auto& fact : examine_machine("/nonexistent/bin/shoal")) {
    EXPECT_EQ(fact.finding == Finding::kMissing, !fact.remedy.empty()) << fact.subject;
    EXPECT_FALSE(fact.value.empty()) << fact.subject;
  }
}

}  // namespace
}  // namespace shoal
