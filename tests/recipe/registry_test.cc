#include "recipe/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "recipe/axes.h"
#include "recipe/compatibility.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

const Axis& axis(std::string_view name) {
  for (const Axis& a : axes())
    if (a.name == name) return a;
  throw std::out_of_range(std::string(name));
}

TEST(Registry, EveryNameMeansOneSystem) {
  std::set<std::string> names;
  for (const std::string& name : system_names()) {
    EXPECT_TRUE(names.insert(name).second) << name << " is there twice";
    EXPECT_NO_THROW(find_system(name)) << name;
  }
  EXPECT_EQ(find_system("caffeonspark").name, "bigdl");
  EXPECT_EQ(default_system().name, "shoal");
}

TEST(Registry, HasTheSystemsOfCentralSynchronousTraining) {
  for (const char* name :
       {"shoal", "pytorch", "horovod", "baidu", "caffe2", "chainermn", "firecaffe", "bigdl",
        "caffeonspark", "tensorflow-sync", "project-adam-epoch", "a-bsp", "redundant"})
    EXPECT_NO_THROW(find_system(name)) << name;
  EXPECT_EQ(find_system("project-adam-epoch").recipe.epoch_fraction, 0.75);
  EXPECT_EQ(find_system("firecaffe").recipe.updater, Updater::Root);
  EXPECT_EQ(find_system("tensorflow-sync").recipe.backups, 1U);
  EXPECT_EQ(find_system("horovod").bucket_bytes, Bytes(64 << 20));
}

TEST(Registry, AMisspeltNameGetsTheNearest) {
  EXPECT_THAT(refusal([] { find_system("horovodd"); }),
              AllOf(HasSubstr("--like horovodd"), HasSubstr("Did you mean 'horovod'?")));
}

TEST(Registry, EverySystemSaysWhatItIsAndWhereItComesFrom) {
  for (const System& system : systems()) {
    EXPECT_FALSE(system.sentence.empty()) << system.name;
    EXPECT_FALSE(system.citation.empty()) << system.name;
    const bool ours = system.name == "shoal";
    EXPECT_EQ(system.year == 0, ours) << system.name;
    const bool linked = system.reference.empty() || system.reference.starts_with("doi:10.") ||
                        system.reference.starts_with("arXiv:");
    EXPECT_TRUE(linked) << system.name << ": " << system.reference;
  }
}

TEST(Registry, EverySystemRunsWithAsManyWorkersAsItNeedsAndMore) {
  for (const System& system : systems()) {
    for (std::uint64_t workers = system.workers_min; workers <= 64; ++workers)
      EXPECT_NO_THROW(require_compatible(system, system.recipe, workers))
          << system.name << " with " << workers;
    if (system.workers_min == 1) continue;
    EXPECT_THAT(refusal([&] { require_compatible(system, system.recipe, system.workers_min - 1); }),
                AllOf(HasSubstr(system.name), HasSubstr("--workers 2")));
  }
}

TEST(Axes, EachReadsWhatItWroteAndRefusesTheRest) {
  for (const Axis& a : axes()) {
    std::vector<std::string> values = a.choices;
    if (values.empty()) values = {"3", "0"};
    for (const std::string& value : values) {
      Recipe recipe;
      a.set(recipe, value);
      EXPECT_EQ(a.get(recipe), value) << a.name;
    }
    EXPECT_THAT(refusal([&] {
                  Recipe recipe;
                  a.set(recipe, "sevn");
                }),
                HasSubstr("sevn"))
        << a.name;
  }
}

TEST(Axes, AMisspeltChoiceGetsTheNearest) {
  EXPECT_THAT(refusal([] {
                Recipe recipe;
                axis("straggler-policy").set(recipe, "fastst");
              }),
              AllOf(HasSubstr("--straggler-policy fastst"), HasSubstr("'fastest'")));
}

// The order "largest changes first" is Bosen's filter of pushes: two names, one choice.
TEST(Axes, TheLargestChangesFirstIsTheFilterOfServers) {
  Recipe recipe{.updater = Updater::Servers, .overlap = false};
  axis("order").set(recipe, "magnitude");
  EXPECT_EQ(axis("filter").get(recipe), "magnitude:1000000");
  axis("filter").set(recipe, "magnitude:5000");
  axis("order").set(recipe, "magnitude");
  EXPECT_EQ(axis("filter").get(recipe), "magnitude:5000") << "the rate stays";
  axis("order").set(recipe, "fifo");
  EXPECT_EQ(axis("filter").get(recipe), "none");
  EXPECT_EQ(axis("order").get(find_system("bosen").recipe), "magnitude");
}

TEST(Axes, ADifferenceIsTheFlagsThatMakeIt) {
  Recipe from, to;
  EXPECT_EQ(flags_between(from, to), "");
  to.overlap = false;
  to.stragglers = StragglerPolicy::First;
  to.backups = 2;
  EXPECT_EQ(flags_between(from, to), "--order fifo --straggler-policy first --backups 2");
  EXPECT_EQ(flags_between(to, from), "--order wfbp --straggler-policy all --backups 0");
}

}  // namespace
}  // namespace shoal
