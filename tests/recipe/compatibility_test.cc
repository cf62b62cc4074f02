#include "recipe/compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "recipe/axes.h"
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
void each_of_pushes(Served r, std::uint64_t workers, const Visit& visit) {
  for (const bool factors : {false, true})
    for (const char* const filter : {"none", "significant:0.1"})
      for (const char* const groups : {"off", "4"})
        for (const std::uint32_t write_back : {1U, 3U}) {
          r.ps.push = factors ? PushForm::Factors : PushForm::Gradients;
          r.ps.filter = parse_filter(filter);
          r.ps.groups = parse_groups(groups);
          r.ps.write_back = write_back;
          visit(r, workers);
        }
}

// Varies the encodings of pushes and reads.
void each_of_encoded_pushes(Served r, std::uint64_t workers, const Visit& visit) {
  for (const char* const as : {"onebit+ef", "fp16", "powersgd:2", "fc=dgc", "fc=topk:0.01+ef"})
    for (const double after : {0.0, 0.5})
      for (const char* const pulls : {"fp32", "qsgd:64", "onebit"})
        for (const char* const consistency : {"async", "reject:2", "backup:1"})
          for (const bool compress : {false, true}) {
            r.encode = Encode();
            parse_encode(as, r.encode);
            r.encode.after = after;
            r.ps.pulls = parse_encoding(pulls);
            r.ps.consistency = parse_consistency(consistency);
            r.ps.compress = compress;
            visit(r, workers);
            r.encode = Encode{.after = after};
            visit(r, workers);
          }
}

void each_of_servers(std::uint64_t workers, const Visit& visit) {
  Served r;
  for (const char* const norm : {"local", "sync"})
    for (const std::uint32_t shards : {0U, 1U, 8U}) {
      r = Served();
      r.shards = shards;
      r.batch_norm = parse_batch_norm(norm);
      each_of_encoded_pushes(r, workers, visit);
      for (const char* const consistency :
           {"synchronous", "bounded:3", "value:0.5", "async", "backup:1"})
        for (const std::uint32_t servers : {0U, 6U})
          for (const std::uint32_t copies : {1U, 7U})
            for (const std::uint32_t push_every : {1U, 2U})
              for (const char* const fetch : {"1", "3", "eager"}) {
                r.ps = ParameterServerOptions();
                r.ps.consistency = parse_consistency(consistency);
                r.ps.servers = servers;
                r.ps.copies = copies;
                r.ps.push_every = push_every;
                r.ps.fetch = parse_fetch(fetch);
                visit(r, workers);
                if (servers == 6 && copies == 1) each_of_pushes(r, workers, visit);
              }
    }
}

// Exchanges of models. A setting that the algorithm does not have is left out.
void set(Decentral& r, std::string_view name, const std::string& value) {
  for (const Setting& setting : settings_of(r))
    if (setting.name == name) setting.set(value);
}

void each_of_models(std::uint64_t workers, const Visit& visit) {
  for_each_alternative<AlgorithmChoice>([&](const auto& algorithm) {
    for (const Exchange exchange : {Exchange::Auto, Exchange::Ring})
      for (const char* const norm : {"local", "sync"})
        for (const char* const tau : {"1", "4"})
          for (const char* const late : {"0", "1", "4"})
            for (const char* const topology : {"ring", "halton", "random"}) {
              Decentral r{.algorithm = algorithm};
              r.exchange = exchange;
              r.batch_norm = parse_batch_norm(norm);
              set(r, "local-steps", tau);
              set(r, "overlap-steps", late);
              set(r, "topology", topology);
              visit(r, workers);
            }
  });
}

// And their encodings.
void each_of_encoded_models(std::uint64_t workers, const Visit& visit) {
  for_each_alternative<AlgorithmChoice>([&](const auto& algorithm) {
    for (const char* const as : {"fp32", "onebit+ef", "qsgd:4", "auto", "fc=topk:0.01"})
      for (const EncodedForm by :
           {EncodedForm::Auto, EncodedForm::Ring, EncodedForm::Sparse, EncodedForm::Kylix})
        for (const char* const topology : {"ring", "hypercube", "complete"})
          for (const char* const mix_rate : {"auto", "0.5"}) {
            Decentral r{.algorithm = algorithm};
            set(r, "topology", topology);
            set(r, "mix-rate", mix_rate);
            parse_encode(as, r.encode);
            r.encode.by = by;
            visit(r, workers);
          }
  });
}

void each_of_encodings(InStep r, std::uint64_t workers, const Visit& visit) {
  for (const char* const as : {"fp32", "onebit+ef", "topk:0.01", "powersgd:2", "sfb", "auto"})
    for (const EncodedForm by :
         {EncodedForm::Auto, EncodedForm::Ring, EncodedForm::Sparse, EncodedForm::Kylix})
      for (const double after : {0.0, 0.5}) {
        r.encode = {parse_encoding(as), by, after};
        visit(r, workers);
        r.encode.layers.push_back({"fc", parse_encoding("fp16")});
        visit(r, workers);
        r.encode.layers.clear();
        r.accumulate = 4;
        visit(r, workers);
        r.accumulate = 1;
        const SendOrder order = std::exchange(r.order, SendOrder::Priority);
        visit(r, workers);
        r.order = order;
      }
}

// Steps that all workers compute together.
void each_of_steps(std::uint64_t workers, const Visit& visit) {
  InStep r;
  for (int updater = 0; updater < 4; ++updater)
    for (const Exchange exchange :
         {Exchange::Auto, Exchange::Ring, Exchange::Tree, Exchange::Direct})
      for (const StragglerPolicy& stragglers :
           {StragglerPolicy(AllGradients()), StragglerPolicy(FirstGradients{1}),
            StragglerPolicy(FirstGradients{9}), StragglerPolicy(PartialGradients()),
            StragglerPolicy(RedundantGradients())})
        for (const std::uint32_t accumulate : {1U, 4U})
          for (const std::uint32_t shards : {0U, 1U, 8U})
            for (const SendOrder order : {SendOrder::Fifo, SendOrder::Wfbp, SendOrder::Priority})
              for (int switches = 0; switches < 8; ++switches) {
                r.updater = static_cast<Updater>(updater);
                r.exchange = exchange;
                r.stragglers = stragglers;
                r.accumulate = accumulate;
                r.shards = shards;
                r.order = order;
                r.balance = (switches & 1) != 0 ? Balance::Auto : Balance::Even;
                r.keep = (switches & 2) != 0 ? KeepBatch::Worker : KeepBatch::Global;
                r.batch_norm = parse_batch_norm((switches & 4) != 0 ? "sync" : "local");
                r.encode = Encode();
                visit(r, workers);
                if (accumulate == 1 && shards < 2 && switches == 0 && order == SendOrder::Wfbp)
                  each_of_encodings(r, workers, visit);
              }
}

// Every choice that some row tells apart with every other, and with several numbers of workers.
void each_combination(const Visit& visit) {
  for (const std::uint64_t workers : {1U, 2U, 9U}) {
    each_of_steps(workers, visit);
    each_of_servers(workers, visit);
    each_of_models(workers, visit);
    each_of_encoded_models(workers, visit);
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
  EXPECT_GT(refused, 10'000U);
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
  InStep recipe{.updater = Updater::Owners, .order = SendOrder::Priority};
  EXPECT_TRUE(nearest(recipe, 4) ==
              Recipe(InStep{.exchange = Exchange::Direct, .order = SendOrder::Priority}));
  recipe.shards = 8;
  EXPECT_EQ(axis_of(nearest(recipe, 4), "order"), "wfbp");
  recipe = {.exchange = Exchange::Direct, .order = SendOrder::Priority};
  recipe.encode.as = parse_encoding("onebit+ef");
  EXPECT_EQ(axis_of(nearest(recipe, 4), "order"), "wfbp");
}

TEST(Compatibility, CheckNamesWhatIsBrokenAndTheFlagsThatMendIt) {
  const std::vector<Violation> violations = check(InStep{.updater = Updater::Root}, 4);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_THAT(std::string(violations[0].rule->what), HasSubstr("--update root"));
  EXPECT_EQ(violations[0].instead, "--exchange tree");
  EXPECT_TRUE(check(Recipe(), 4).empty());
}

TEST(Compatibility, ARefusalSaysWhyAndWhatWorks) {
  InStep recipe = std::get<InStep>(find_system("tensorflow-sync").recipe);
  recipe.shards = 8;
  try {
    require_compatible(find_system("tensorflow-sync"), recipe, 4);
    FAIL() << "it was not refused";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("--shards"), HasSubstr("the speed of workers"),
                      HasSubstr("--straggler-policy all"), testing::Not(HasSubstr("`"))));
  }
}

}  // namespace
}  // namespace shoal
