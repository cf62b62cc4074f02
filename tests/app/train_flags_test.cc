#include "app/train_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/calibrate.h"
#include "app/command_line.h"
#include "app/config.h"
#include "app/simulate_run.h"
#include "base/error.h"
#include "recipe/registry.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TrainFlags flags_of(const std::vector<std::string>& words) {
  TrainFlags flags;
  const Command program{
      .name = "train", .summary = "trains", .options = train_options(flags), .run = [] {
        return ExitCode::kOk;
      }};
  parse_options(program, words);
  return flags;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    check_flags(flags_of(words));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

InStep in_step(const TrainFlags& flags) { return std::get<InStep>(recipe_of(flags)); }

TEST(Like, WithoutASystemItIsOurs) {
  const InStep recipe = in_step(flags_of({}));
  EXPECT_EQ(recipe.updater, Updater::Owners);
  EXPECT_EQ(recipe.exchange, Exchange::Direct);
  EXPECT_EQ(bucket_bytes_of(flags_of({})), Bytes(1 << 20));
}

TEST(Like, ASystemSetsTheAxesAndFlagsOverrideThem) {
  const TrainFlags plain = flags_of({"--like", "tensorflow-sync"});
  EXPECT_EQ(in_step(plain).stragglers, StragglerPolicy(FirstGradients{1}));
  const TrainFlags changed =
      flags_of({"--like", "tensorflow-sync", "--backups", "3", "--exchange", "ring"});
  EXPECT_EQ(in_step(changed).stragglers, StragglerPolicy(FirstGradients{3}));
  EXPECT_EQ(in_step(changed).exchange, Exchange::Ring);
  EXPECT_EQ(in_step(flags_of({"--like", "pytorch", "--order", "fifo"})).order, SendOrder::Fifo);
  EXPECT_EQ(in_step(flags_of({"--like", "bigdl", "--order", "wfbp"})).order, SendOrder::Wfbp);
}

TEST(Like, ASettingOfAnotherChoiceIsRefusedAndTheMessageSaysWhereItGoes) {
  EXPECT_EQ(axis_of(recipe_of(flags_of({"--like", "tensorflow-sync", "--straggler-policy", "all"})),
                    "backups"),
            "");
  EXPECT_THAT(refusal({"--backups", "1", "--workers", "3"}),
              AllOf(HasSubstr("--backups does not go with --update owners --straggler-policy all"),
                    HasSubstr("--backups goes with --straggler-policy first")));
  EXPECT_THAT(
      refusal({"--copies", "2", "--local-steps", "3"}),
      AllOf(HasSubstr("--copies"), HasSubstr("with --update servers"), HasSubstr("--local-steps")));
}

TEST(Like, AnotherKindTakesOverTheSettingsThatBothHave) {
  const Recipe served = recipe_of(flags_of({"--like", "cntk-1bit", "--update", "servers"}));
  EXPECT_EQ(axis_of(served, "encode"), "onebit+ef");
  EXPECT_EQ(axis_of(served, "exchange"), "");
  const Recipe decentral = recipe_of(flags_of({"--like", "pytorch", "--update", "decentral"}));
  EXPECT_EQ(axis_of(decentral, "exchange"), "ring");
}

TEST(Like, ASystemHasItsOwnBuckets) {
  EXPECT_EQ(bucket_bytes_of(flags_of({"--like", "horovod"})), Bytes(64 << 20));
  EXPECT_EQ(bucket_bytes_of(flags_of({"--like", "horovod", "--bucket-bytes", "9"})), Bytes(9));
}

TEST(Like, ReproducibleIsEightShardsUnlessTheyAreCounted) {
  EXPECT_EQ(in_step(flags_of({})).shards, 0U);
  EXPECT_EQ(in_step(flags_of({"--reproducible"})).shards, 8U);
  EXPECT_EQ(in_step(flags_of({"--reproducible", "--shards", "16"})).shards, 16U);
}

TEST(Like, AxesMayComeFromAFileAsNumbers) {
  TrainFlags flags;
  const std::vector<ConfigEntry> entries = {
      {"epoch-fraction", 0.75, 1}, {"backups", std::int64_t{2}, 2}, {"order", "fifo", 3}};
  apply_config(train_options(flags), {"--backups"}, entries, "run.toml");
  EXPECT_EQ(in_step(flags).epoch_fraction, 0.75);
  EXPECT_EQ(in_step(flags).order, SendOrder::Fifo);
  EXPECT_EQ(backups(in_step(flags)), 0U) << "the command line wins";
}

TEST(Like, WhatCannotBeIsRefusedWithReasonAndChoice) {
  EXPECT_EQ(refusal({"--like", "pytorch"}), "");
  EXPECT_THAT(refusal({"--like", "pytroch"}), HasSubstr("'pytorch'"));
  EXPECT_THAT(refusal({"--like", "firecaffe", "--exchange", "ring", "--workers", "2"}),
              AllOf(HasSubstr("--update root"), HasSubstr("take --exchange tree")));
  EXPECT_THAT(refusal({"--like", "a-bsp", "--workers", "1"}),
              AllOf(HasSubstr("a-bsp"), HasSubstr("--workers 2")));
  EXPECT_EQ(refusal({"--like", "a-bsp"}), "") << "another launcher may have started several";
  EXPECT_THAT(refusal({"--epoch-fraction", "1.5", "--workers", "2:4"}),
              HasSubstr("--epoch-fraction 1.5: expected a number above 0, at most 1"));
  EXPECT_THAT(refusal({"--update", "owner"}), HasSubstr("'owners'"));
  EXPECT_THAT(refusal({"--compress", "--no-compress"}), HasSubstr("one of them"));
}

TEST(LargeBatches, FlagsAreReadAndBadValuesRefused) {
  EXPECT_EQ(normalization_of(flags_of({})), Normalization{});
  const Normalization norm =
      normalization_of(flags_of({"--batch-norm", "group:32", "--weight-norm"}));
  EXPECT_EQ(to_string(norm.batch_norm), "group:32");
  EXPECT_TRUE(norm.weight_norm);
  for (const char* bad : {"group", "group:", "group:1", "group:0", "group:x", "group:-4", "Sync"})
    EXPECT_THAT(refusal({"--batch-norm", bad}), HasSubstr(fmt::format("--batch-norm {}", bad)));
  EXPECT_EQ(refusal({"--batch-growth", "2@10,20"}), "");
  EXPECT_THAT(refusal({"--batch-growth", "2"}), HasSubstr("2@10,20"));
  EXPECT_EQ(refusal({"--batch-norm", "sync", "--workers", "2"}), "");
}

class LargeBatchPlan : public testing::Test {
 protected:
  std::string refused(const std::vector<std::string>& words, std::uint64_t workers = 1) {
    try {
      plan = plan_of(flags_of(words), data(), workers);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  }
  static Dataset data() { return open_dataset("synthetic:blobs,n=1000", {}, {}); }
  TrainPlan plan;
};

TEST_F(LargeBatchPlan, StepsOfAGrowingBatchAreThoseOfTheEpochs) {
  EXPECT_EQ(refused({"--epochs", "4", "--batch", "100", "--batch-growth", "2@1,3"}), "");
  const std::uint64_t n = plan.samples;
  EXPECT_EQ(plan.steps, Step((n + 99) / 100 + 2 * ((n + 199) / 200) + (n + 399) / 400));
  EXPECT_THAT(refused({"--batch", "500", "--batch-growth", "8@3"}),
              AllOf(HasSubstr("from epoch 3 on"), HasSubstr("4000 samples")));
}

TEST_F(LargeBatchPlan, AGroupIsNoLargerThanThePassOfAWorker) {
  EXPECT_EQ(refused({"--batch", "64", "--batch-norm", "group:64"}), "");
  EXPECT_THAT(refused({"--batch", "64", "--batch-norm", "group:65"}), HasSubstr("or group:64"));
  EXPECT_THAT(refused({"--global-batch", "64", "--batch-norm", "group:33"}, 2),
              HasSubstr("or group:32"));
  EXPECT_THAT(refused({"--batch", "64", "--accumulate", "4", "--batch-norm", "group:17"}),
              HasSubstr("or group:16"));
}

TEST_F(LargeBatchPlan, StatisticsOfAllWorkersExcludeWhatDoesNotWaitForAll) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--straggler-policy", "redundant", "--order", "fifo"},
                                             {"--accumulate", "2"},
                                             {"--reproducible"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--batch-norm", "sync"});
    EXPECT_THAT(refused(all, 2),
                AllOf(HasSubstr("--batch-norm sync with"), HasSubstr("take --batch-norm local")));
  }
}

TEST(TrainFlags, EverySystemIsOneSettingAway) {
  for (const System& system : systems()) {
    TrainFlags flags;
    flags.like = system.name;
    flags.workers = "4";
    EXPECT_NO_THROW(check_flags(flags)) << system.name;
  }
}

TEST(Costs, OfElementsAreReadByName) {
  const ElementCosts costs = parse_element_costs("update=1.5,reduce=0.25");
  EXPECT_EQ(costs.update, 1.5);
  EXPECT_EQ(costs.reduce, 0.25);
  EXPECT_EQ(costs.copy, 0);
  const ElementCosts again = parse_element_costs(to_text(costs));
  EXPECT_EQ(again.update, costs.update);
  for (const char* text : {"updaet=1", "reduce", "reduce=", "reduce=-1", "reduce=1;update=2"})
    EXPECT_THROW(parse_element_costs(text), ConfigError) << text;
}

AxisFlag& axis_of(TrainFlags& flags, std::string_view name) {
  const auto it = std::ranges::find(axes(), name, &Axis::name);
  return flags.axes.at(static_cast<std::size_t>(it - axes().begin()));
}

std::string simulate_refusal(const std::function<void(TrainFlags&, SimulateFlags&)>& change) {
  TrainFlags flags;
  SimulateFlags how;
  flags.out = "never-made";
  change(flags, how);
  try {
    const SimulateRun run(flags, how, {}, KeptCosts({}));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(SimulateFlags, WhatCannotBeSimulatedIsRefused) {
  EXPECT_EQ(simulate_refusal([](TrainFlags& f, SimulateFlags&) { f.workers = "500"; }), "");
  EXPECT_THAT(simulate_refusal([](TrainFlags& f, SimulateFlags&) {
                f.workers = "2";
                axis_of(f, "batch-norm").value = "sync";
              }),
              AllOf(HasSubstr("--batch-norm sync"), HasSubstr("take --batch-norm group:64")));
  EXPECT_THAT(simulate_refusal([](TrainFlags& f, SimulateFlags&) { f.hosts = "a,b"; }),
              HasSubstr("--hosts-of"));
  EXPECT_THAT(simulate_refusal([](TrainFlags& f, SimulateFlags&) { f.resume = "run"; }),
              HasSubstr("--resume"));
  EXPECT_THAT(simulate_refusal([](TrainFlags&, SimulateFlags& h) { h.parameters = 9; }),
              HasSubstr("--timing-only"));
  EXPECT_THAT(simulate_refusal([](TrainFlags&, SimulateFlags& h) {
                h.parameters = 9;
                h.timing_only = true;
              }),
              HasSubstr("--ns-per-sample"));
  EXPECT_THAT(simulate_refusal([](TrainFlags&, SimulateFlags& h) { h.faults = "crash:1@1s"; }),
              HasSubstr("there is no node 1"));
  EXPECT_THAT(simulate_refusal([](TrainFlags&, SimulateFlags& h) { h.hosts_of = 0; }),
              HasSubstr("--hosts-of 0"));
  EXPECT_THAT(simulate_refusal([](TrainFlags& f, SimulateFlags& h) {
                h.parameters = 1'000'000;
                h.timing_only = true;
                h.ns_per_sample = "1000";
                f.bucket_bytes = 8;
              }),
              AllOf(HasSubstr("--bucket-bytes 8"), HasSubstr("take at least 980")));
  EXPECT_THAT(simulate_refusal([](TrainFlags&, SimulateFlags& h) { h.memory = "slow"; }),
              HasSubstr("--memory slow"));
}

}  // namespace
}  // namespace shoal
