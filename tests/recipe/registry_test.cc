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

void set(Recipe& recipe, const std::string& name, const std::string& value) {
  set_axes(recipe, {{name, value}});
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
  EXPECT_EQ(axis_of(find_system("project-adam-epoch").recipe, "epoch-fraction"), "0.75");
  EXPECT_EQ(axis_of(find_system("firecaffe").recipe, "update"), "root");
  EXPECT_EQ(axis_of(find_system("tensorflow-sync").recipe, "backups"), "1");
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

// A recipe that has this axis.
Recipe with(const Axis& axis) {
  Recipe recipe;
  if (axis.goes_with.empty()) return recipe;
  for_each_alternative<Recipe>([&](const auto& kind) {
    const Recipe plain = kind;
    for (const Axis& decider : axes()) {
      if (!decider.decides || decider.name == "update") continue;
      for (const std::string& choice : decider.choices) {
        Recipe other = plain;
        if (axis_of(other, decider.name).empty()) continue;
        set(other, decider.name, choice);
        if (!axis_of(other, axis.name).empty()) recipe = other;
      }
    }
    if (!axis_of(plain, axis.name).empty()) recipe = plain;
  });
  return recipe;
}

TEST(Axes, EachReadsWhatItWroteAndRefusesTheRest) {
  for (const Axis& a : axes()) {
    std::vector<std::string> values = a.choices;
    if (a.is_switch) values = {"yes", "no"};
    if (values.empty()) values = {"1", "0"};
    std::size_t taken = 0;
    for (const std::string& value : values) {
      Recipe recipe = with(a);
      try {
        set(recipe, a.name, value);
      } catch (const ConfigError&) {
        continue;  // a choice that another kind of training has
      }
      EXPECT_EQ(axis_of(recipe, a.name), value) << a.name;
      ++taken;
    }
    EXPECT_GT(taken, 0U) << a.name;
    EXPECT_THAT(refusal([&] {
                  Recipe recipe = with(a);
                  set(recipe, a.name, "sevn");
                }),
                HasSubstr("sevn"))
        << a.name;
  }
}

TEST(Axes, EachIsThereOnceAndSaysWhatItGoesWith) {
  std::set<std::string> names;
  for (const Axis& a : axes()) {
    EXPECT_TRUE(names.insert(a.name).second) << a.name;
    EXPECT_FALSE(a.help.empty()) << a.name;
    EXPECT_EQ(a.goes_with.empty(), a.name == "update") << a.name;
  }
}

TEST(Axes, AMisspeltChoiceGetsTheNearest) {
  EXPECT_THAT(refusal([] {
                Recipe recipe;
                set(recipe, "straggler-policy", "fastst");
              }),
              AllOf(HasSubstr("--straggler-policy fastst"), HasSubstr("'fastest'")));
}

// The order "largest changes first" is Bosen's filter of pushes: two names, one choice.
TEST(Axes, TheLargestChangesFirstIsTheFilterOfServers) {
  Recipe recipe = Served();
  set(recipe, "order", "magnitude");
  EXPECT_EQ(axis_of(recipe, "filter"), "magnitude:1000000");
  set(recipe, "filter", "magnitude:5000");
  set(recipe, "order", "magnitude");
  EXPECT_EQ(axis_of(recipe, "filter"), "magnitude:5000") << "the rate stays";
  set(recipe, "order", "fifo");
  EXPECT_EQ(axis_of(recipe, "filter"), "none");
  EXPECT_EQ(axis_of(find_system("bosen").recipe, "order"), "magnitude");
}

TEST(Axes, ADifferenceIsTheFlagsThatMakeIt) {
  InStep from, to;
  EXPECT_EQ(flags_between(from, to), "");
  to.order = SendOrder::Fifo;
  to.stragglers = FirstGradients{2};
  EXPECT_EQ(flags_between(from, to), "--order fifo --straggler-policy first --backups 2");
  EXPECT_EQ(flags_between(to, from), "--order wfbp --straggler-policy all");
}

TEST(Axes, TheFlagsBetweenTwoSystemsMakeOneOfTheOther) {
  const std::span<const System> all = systems();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const System& from = all[i];
    const System& to = all[(i + 7) % all.size()];
    std::vector<AxisValue> values;
    Recipe copy = to.recipe;
    for (const Setting& setting : settings_of(copy))
      values.push_back({std::string(setting.name), setting.text()});
    Recipe recipe = from.recipe;
    set_axes(recipe, values);
    EXPECT_TRUE(recipe == to.recipe) << from.name << " to " << to.name;
  }
}

}  // namespace
}  // namespace shoal
