#include "recipe/compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "base/error.h"
#include "support/sample.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Raw pointers: tests are not optimized, and the rules are evaluated millions of times.
const Exclusion* const kRules = exclusions().data();
const Exclusion* const kRulesEnd = kRules + exclusions().size();

bool passes(const Recipe& recipe, std::uint64_t workers) {
  for (const Exclusion* rule = kRules; rule != kRulesEnd; ++rule)
    if (rule->broken(recipe, workers)) return false;
  return true;
}

using Visit = std::function<void(const Recipe&, std::uint64_t workers)>;

// Varies the gradients that workers push, and which workers push.
void each_of_pushes(Recipe r, std::uint64_t workers, const Visit& visit) {
  for (const bool factors : {false, true})
    for (const char* const filter : {"none", "significant:0.1"})
      for (const char* const groups : {"off", "4"})
        for (const std::uint32_t write_back : {0U, 1U, 3U}) {
          r.ps.push = factors ? PushForm::Factors : PushForm::Gradients;
          r.ps.filter = parse_filter(filter);
          r.ps.groups = parse_groups(groups);
          r.ps.write_back = write_back;
          visit(r, workers);
        }
}

// Varies the encodings of pushes and reads.
void each_of_encoded_pushes(Recipe r, std::uint64_t workers, const Visit& visit) {
  r.overlap = false;
  r.keep = KeepBatch::Worker;
  for (const char* const as : {"onebit+ef", "fp16", "powersgd:2", "fc=dgc", "fc=topk:0.01+ef"})
    for (const EncodedForm by : {EncodedForm::Auto, EncodedForm::Ring})
      for (const char* const pulls : {"fp32", "qsgd:64", "onebit"})
        for (const char* const consistency : {"async", "reject:2", "backup:1"})
          for (const bool compress : {false, true}) {
            r.encode = Encode();
            parse_encode(as, r.encode);
            r.encode.by = by;
            r.ps.pulls = parse_encoding(pulls);
            r.ps.consistency = parse_consistency(consistency);
            r.ps.compress = compress;
            visit(r, workers);
          }
}

// Varies the options of servers, in combinations that are unique to servers or excluded for them.
void each_of_servers(Recipe r, std::uint64_t workers, const Visit& visit) {
  for (const char* const consistency :
       {"synchronous", "bounded:3", "value:0.5", "async", "backup:1"})
    for (const std::uint32_t servers : {0U, 6U})
      for (const std::uint32_t copies : {0U, 1U, 7U})
        for (const std::uint32_t push_every : {0U, 1U, 2U})
          for (const char* const fetch : {"1", "3", "eager"}) {
            r.ps.consistency = parse_consistency(consistency);
            r.ps.servers = servers;
            r.ps.copies = copies;
            r.ps.push_every = push_every;
            r.ps.fetch = parse_fetch(fetch);
            visit(r, workers);
            if (servers == 6 && copies == 1) each_of_pushes(r, workers, visit);
          }
}

// Varies the options of models that meet.
void each_of_peers(Recipe r, std::uint64_t workers, const Visit& visit) {
  for (std::size_t meet = 0; meet < kAlgorithms; ++meet)
    for (const std::uint32_t tau : {0U, 1U, 4U})
      for (const std::uint32_t late : {0U, 1U, 4U})
        for (const bool in_step : {true, false})
          for (const char* const topology : {"ring", "halton"}) {
            r.peering.algorithm = static_cast<Algorithm>(meet);
            r.peering.tau = tau;
            r.peering.overlap_steps = late;
            r.peering.in_step = in_step;
            r.peering.topology = parse_topology(topology);
            visit(r, workers);
            r.peering.combine = Combine::Mean;
            visit(r, workers);
            r.peering.combine = Combine::None;
          }
}

// Varies the encodings of models that meet.
void each_of_encoded_models(Recipe r, std::uint64_t workers, const Visit& visit) {
  r.overlap = false;
  r.keep = KeepBatch::Worker;
  for (std::size_t meet = 0; meet < kAlgorithms; ++meet)
    for (const char* const as : {"fp32", "onebit+ef", "qsgd:4", "auto", "fc=topk:0.01"})
      for (const EncodedForm by : {EncodedForm::Auto, EncodedForm::Ring})
        for (const double after : {0.0, 0.5})
          for (const char* const topology : {"ring", "hypercube"})
            for (const double mix_rate : {kAuto, 0.5}) {
              r.peering.algorithm = static_cast<Algorithm>(meet);
              r.peering.topology = parse_topology(topology);
              r.peering.mix_rate = mix_rate;
              r.encode = Encode();
              parse_encode(as, r.encode);
              r.encode.by = by;
              r.encode.after = after;
              visit(r, workers);
            }
}

void each_of_encodings(Recipe r, std::uint64_t workers, const Visit& visit) {
  for (const char* const as : {"fp32", "onebit+ef", "topk:0.01", "powersgd:2", "sfb", "auto"})
    for (const EncodedForm by :
         {EncodedForm::Auto, EncodedForm::Ring, EncodedForm::Sparse, EncodedForm::Kylix})
      for (const double after : {-1.0, 0.0, 0.5}) {
        r.encode = {parse_encoding(as), by, after};
        visit(r, workers);
        r.encode.layers.push_back({"fc", parse_encoding("fp16")});
        visit(r, workers);
        r.encode.layers.clear();
        r.accumulate = 4;
        visit(r, workers);
        r.accumulate = 1;
        r.priority = true;
        visit(r, workers);
        r.priority = false;
      }
}

// All combinations of choices that some rule distinguishes, for several numbers of workers.
void each_combination(const Visit& visit) {
  Recipe r;
  for (const std::uint64_t workers : {1U, 2U, 9U})
    for (int updater = 0; updater < 6; ++updater)
      for (const Exchange exchange :
           {Exchange::Auto, Exchange::Ring, Exchange::Tree, Exchange::Direct})
        for (int stragglers = 0; stragglers < 4; ++stragglers)
          for (const std::uint32_t backups : {0U, 1U, 9U})
            for (const double fraction : {0.0, 0.75, 1.0})
              for (const std::uint32_t accumulate : {0U, 1U, 4U})
                for (const std::uint32_t shards : {0U, 1U, 8U})
                  for (int switches = 0; switches < 16; ++switches) {
                    // Values that are always invalid need not be combined with everything.
                    const bool senseless = fraction == 0 || accumulate == 0;
                    if (senseless && (stragglers > 0 || backups > 0 || shards > 0)) continue;
                    r.updater = static_cast<Updater>(updater);
                    r.exchange = exchange;
                    r.stragglers = static_cast<StragglerPolicy>(stragglers);
                    r.backups = backups;
                    r.epoch_fraction = fraction;
                    r.accumulate = accumulate;
                    r.shards = shards;
                    r.overlap = (switches & 1) != 0;
                    r.balance = (switches & 2) != 0 ? Balance::Auto : Balance::Even;
                    r.keep = (switches & 4) != 0 ? KeepBatch::Worker : KeepBatch::Global;
                    r.batch_norm = parse_batch_norm((switches & 8) != 0 ? "sync" : "local");
                    r.ps = ParameterServerOptions();
                    r.peering = Peering();
                    r.encode = Encode();
                    r.priority = r.overlap;
                    if (r.priority) visit(r, workers);
                    r.priority = false;
                    visit(r, workers);
                    const bool simple = backups == 0 && fraction == 1 && accumulate == 1;
                    const bool any = r.exchange == Exchange::Auto || r.exchange == Exchange::Ring;
                    if (simple && any && switches % 4 == 0) {
                      if (shards < 2 && switches == 0) {
                        each_of_encodings(r, workers, visit);
                        if (stragglers == 0) each_of_encoded_pushes(r, workers, visit);
                        if (stragglers == 0) each_of_encoded_models(r, workers, visit);
                      }
                      if (stragglers < 2 && shards < 2) each_of_servers(r, workers, visit);
                      if (stragglers == 0 && shards == 0) each_of_peers(r, workers, visit);
                    }
                  }
}

TEST(Compatibility, WhateverIsRefusedHasANearestThatPassesAndTheRestStaysAsItIs) {
  std::uint64_t refused = 0, passed = 0;
  Sample sample;
  each_combination([&](const Recipe& recipe, std::uint64_t workers) {
    if (!sample.takes_next()) return;
    const Recipe mended = nearest(recipe, workers);
    ASSERT_TRUE(passes(mended, workers));
    if (passes(recipe, workers)) {
      ++passed;
      ASSERT_TRUE(recipe == mended);
    } else {
      ++refused;
      ASSERT_FALSE(recipe == mended);
    }
  });
  if (!sample.whole()) return;
  EXPECT_GT(passed, 500U);
  EXPECT_GT(refused, 100'000U);
}

TEST(Compatibility, EachMendingMendsItsOwnRow) {
  Sample sample;
  each_combination([&](const Recipe& recipe, std::uint64_t workers) {
    if (!sample.takes_next()) return;
    for (const Exclusion* rule = kRules; rule != kRulesEnd; ++rule) {
      if (!rule->broken(recipe, workers)) continue;
      Recipe mended = recipe;
      rule->mend(mended, workers);
      ASSERT_FALSE(rule->broken(mended, workers)) << rule->what << ", " << workers << " workers";
    }
  });
}

TEST(Compatibility, EveryRowOfTheTableIsNeeded) {
  // A rule is needed if some recipe breaks it and no other rule.
  std::set<const Exclusion*> needed;
  each_combination([&](const Recipe& recipe, std::uint64_t workers) {
    const Exclusion* broken = nullptr;
    for (const Exclusion* rule = kRules; rule != kRulesEnd; ++rule) {
      if (!rule->broken(recipe, workers)) continue;
      if (broken != nullptr) return;
      broken = rule;
    }
    if (broken != nullptr) needed.insert(broken);
  });
  for (const Exclusion& rule : exclusions()) EXPECT_TRUE(needed.contains(&rule)) << rule.what;
}

TEST(Compatibility, ThePriorityOfFirstLayersIsOfEveryonesUpdatesInChunks) {
  Recipe recipe{.updater = Updater::Owners, .exchange = Exchange::Ring, .priority = true};
  EXPECT_TRUE(nearest(recipe, 4) == (Recipe{.exchange = Exchange::Direct, .priority = true}));
  recipe.shards = 8;
  EXPECT_FALSE(nearest(recipe, 4).priority);
  recipe = {.exchange = Exchange::Direct, .priority = true};
  recipe.encode.as = parse_encoding("onebit+ef");
  EXPECT_FALSE(nearest(recipe, 4).priority);
}

TEST(Compatibility, CheckNamesWhatIsBrokenAndTheFlagsThatMendIt) {
  Recipe recipe;
  recipe.updater = Updater::Root;
  const std::vector<Violation> violations = check(recipe, 4);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_THAT(std::string(violations[0].rule->what), HasSubstr("--update root"));
  EXPECT_EQ(violations[0].instead, "--exchange tree");
  EXPECT_TRUE(check(Recipe(), 4).empty());
}

TEST(Compatibility, ARefusalSaysWhyAndWhatWorks) {
  Recipe recipe = find_system("tensorflow-sync").recipe;
  recipe.shards = 8;
  try {
    require_compatible(find_system("tensorflow-sync"), recipe, 4);
    FAIL() << "it was not refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("--shards"), HasSubstr("who was fast"),
                                    HasSubstr("--straggler-policy all --backups 0"),
                                    testing::Not(HasSubstr("`"))));
  }
}

TEST(Compatibility, NoFractionThatIsNoNumber) {
  Recipe recipe;
  recipe.epoch_fraction = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(passes(recipe, 2));
  EXPECT_EQ(nearest(recipe, 2).epoch_fraction, 1);
}

}  // namespace
}  // namespace shoal
