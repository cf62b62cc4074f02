#include "checkpoint/snapshot.h"

#include "checkpoint/snapshot_world.h"
#include "support/files_text.h"
#include "support/hooked_files.h"

namespace shoal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SnapshotTest : public testing::Test {
 protected:
  void write(std::uint64_t step) { run(write_step(store, Step(step), "a")); }
  std::vector<std::string> names(std::string_view below = "") {
    return run(files.list(std::string(kFolder) + std::string(below)));
  }
  std::string at(std::string_view path) { return fmt::format("{}/{}", kFolder, path); }
  void overwrite(std::string_view path, std::string_view text) {
    write_text(files, at(path), text);
  }
  // Reads with a store of its own, as a restarted node does.
  Restored restore() {
    SnapshotStore fresh(env, files, options_for("b"));
    return run(fresh.read_latest());
  }
  void expect_restored(std::uint64_t step, const Restored& restored) {
    ASSERT_TRUE(restored.snapshot.has_value());
    EXPECT_EQ(restored.snapshot->step, Step(step));
    expect_whole(*restored.snapshot);
  }

  InlineEnv env;
  SimDisk disk{Seed(1)};
  SimFiles files{disk, env, kNode};
  SnapshotStore store{env, files, options_for("a")};
};

TEST_F(SnapshotTest, NothingThereIsNothingRestored) {
  const Restored restored = restore();
  EXPECT_FALSE(restored.snapshot.has_value());
  EXPECT_THAT(restored.warnings, IsEmpty());
}

TEST_F(SnapshotTest, WhatIsWrittenIsRestoredInOrder) {
  write(10);
  const Restored restored = restore();
  expect_restored(10, restored);
  EXPECT_THAT(restored.warnings, IsEmpty());
  EXPECT_EQ(restored.snapshot->parts[0].name, "model");
  EXPECT_EQ(restored.snapshot->parts[2].name, "by");
  EXPECT_EQ(read_text(files, at("latest")), "step-10\n");
  EXPECT_THAT(names("/step-10"), ElementsAre("by", "manifest", "model", "optimizer"));
}

TEST_F(SnapshotTest, PartsOfAnySize) {
  const std::vector<char> large(1'000'001, 'x');
  std::vector<SnapshotPart> parts;
  parts.push_back({"empty", {}});
  parts.push_back({"large one", {const_buf(std::span<const char>(large))}});
  run(store.write(Step(1), std::move(parts)));
  const Restored restored = restore();
  ASSERT_TRUE(restored.snapshot.has_value());
  EXPECT_EQ(restored.snapshot->part("empty")->size(), 0U);
  EXPECT_EQ(restored.snapshot->part("large one")->size(), large.size());
  EXPECT_EQ(restored.snapshot->part("absent"), nullptr);
}

TEST_F(SnapshotTest, PiecesOfAPartBecomeOneFile) {
  std::vector<SnapshotPart> parts;
  parts.push_back({"p", {text_buf(""), text_buf("one "), text_buf("two "), text_buf("three")}});
  run(store.write(Step(1), std::move(parts)));
  EXPECT_EQ(read_text(files, at("step-1/p")), "one two three");
  EXPECT_EQ(text_of(*restore().snapshot, "p"), "one two three");
}

TEST_F(SnapshotTest, AFolderTakenAwayBetweenTwoPiecesIsNotPublishedWithTheRest) {
  std::vector<SnapshotPart> parts;
  parts.push_back({"p", {text_buf("one "), text_buf("two")}});
  HookedFiles hooked(files, [&](std::string_view call, const std::string& path) {
    if (call == "append") run(files.remove(path.substr(0, path.rfind('/'))));
    return true;
  });
  SnapshotStore robbed(env, hooked, options_for("c"));
  EXPECT_THAT(error_of(robbed.write(Step(1), std::move(parts))),
              HasSubstr("some were removed while they were being written"));
  EXPECT_FALSE(restore().snapshot.has_value());
}

TEST_F(SnapshotTest, OldOnesBeyondKeepAreRemoved) {
  for (const std::uint64_t step : {9, 10, 11, 100}) write(step);
  EXPECT_THAT(names(), ElementsAre("latest", "step-100", "step-11"));
  expect_restored(100, restore());
}

TEST_F(SnapshotTest, OptionsThatCannotBe) {
  SnapshotOptions few = options_for("a");
  few.keep = 1;
  EXPECT_THROW(SnapshotStore(env, files, few), ConfigError);
  EXPECT_THROW(SnapshotStore(env, files, options_for("a-b")), ConfigError);
  EXPECT_THROW(SnapshotStore(env, files, options_for("")), ConfigError);
  SnapshotOptions outside = options_for("a");
  outside.folder = "../elsewhere";
  EXPECT_THROW(SnapshotStore(env, files, outside), DataError);
}

TEST_F(SnapshotTest, ADamagedPartFallsBackAndIsNamed) {
  write(10);
  write(20);
  overwrite("step-20/model", "model of step 21");
  Restored restored = restore();
  expect_restored(10, restored);
  EXPECT_THAT(restored.warnings,
              ElementsAre(AllOf(HasSubstr("run/checkpoint/step-20/model"), HasSubstr("SHA-256"))));

  overwrite("step-20/model", "short");
  restored = restore();
  expect_restored(10, restored);
  EXPECT_THAT(restored.warnings, ElementsAre(AllOf(HasSubstr("step-20/model has 5 bytes"),
                                                   HasSubstr("manifest says 16"))));

  run(files.remove(at("step-20/model")));
  restored = restore();
  expect_restored(10, restored);
  EXPECT_THAT(restored.warnings,
              ElementsAre(AllOf(HasSubstr("step-20/model"), HasSubstr("no such"))));
}

TEST_F(SnapshotTest, ADamagedManifestFallsBackAndIsNamed) {
  write(10);
  write(20);
  const std::string manifest = read_text(files, at("step-20/manifest"));
  for (const std::string& bad : {std::string(), manifest.substr(0, 40), manifest + "x"}) {
    overwrite("step-20/manifest", bad);
    const Restored restored = restore();
    expect_restored(10, restored);
    EXPECT_THAT(restored.warnings, ElementsAre(HasSubstr("run/checkpoint/step-20/manifest")));
  }
  overwrite("step-20/manifest", read_text(files, at("step-10/manifest")));
  EXPECT_THAT(restore().warnings, ElementsAre(HasSubstr("step-20/manifest is of step 10")));
}

TEST_F(SnapshotTest, WhenAllAreDamagedNothingIsRestoredAndEachIsNamed) {
  write(10);
  write(20);
  overwrite("step-10/by", "?");
  overwrite("step-20/by", "??");
  const Restored restored = restore();
  EXPECT_FALSE(restored.snapshot.has_value());
  EXPECT_THAT(restored.warnings, ElementsAre(HasSubstr("step-20/by"), HasSubstr("step-10/by")));
}

TEST_F(SnapshotTest, TheNextWriteRemovesWhatAReadFoundDamaged) {
  for (const std::uint64_t step : {10, 20, 30}) write(step);
  overwrite("step-30/by", "??");
  expect_restored(20, run(store.read_latest()));
  write(25);
  EXPECT_THAT(names(), ElementsAre("latest", "step-20", "step-25"));
  EXPECT_EQ(read_text(files, at("latest")), "step-25\n");
  EXPECT_THAT(restore().warnings, IsEmpty());
}

TEST_F(SnapshotTest, ADamagedOneIsReplacedAndAGoodOneIsLeft) {
  write(10);
  overwrite("step-10/by", "?");
  SnapshotStore other(env, files, options_for("b"));
  run(write_step(other, Step(10), "b"));
  EXPECT_EQ(text_of(*restore().snapshot, "by"), "b");
  run(write_step(store, Step(10), "a"));
  EXPECT_EQ(text_of(*restore().snapshot, "by"), "b");
  EXPECT_THAT(names(), ElementsAre("latest", "step-10"));
}

TEST_F(SnapshotTest, TheFirstOneWhoseWriterDiedBeforeLatestCountsWithoutAWarning) {
  write(10);
  run(files.remove(at("latest")));
  const Restored restored = restore();
  expect_restored(10, restored);
  EXPECT_THAT(restored.warnings, IsEmpty());
}

TEST_F(SnapshotTest, WithoutAUsableLatestTheNewestGoodOneCounts) {
  write(10);
  write(20);
  for (const char* text :
       {"", "step-", "step-20", "garbage\n", "step-020\n", "step-20\nstep-30\n"}) {
    overwrite("latest", text);
    const Restored restored = restore();
    expect_restored(20, restored);
    EXPECT_THAT(restored.warnings,
                ElementsAre(HasSubstr("checkpoint/latest"), HasSubstr("step-20")));
  }
  run(files.remove(at("latest")));
  Restored restored = restore();
  expect_restored(20, restored);
  EXPECT_THAT(restored.warnings, ElementsAre(HasSubstr("checkpoint/latest"), HasSubstr("step-20")));

  overwrite("latest", "step-30\n");
  restored = restore();
  expect_restored(20, restored);
  EXPECT_THAT(restored.warnings, ElementsAre(HasSubstr("names step-30, which is missing")));
  write(25);
  EXPECT_EQ(read_text(files, at("latest")), "step-25\n");
}

TEST_F(SnapshotTest, LeftoversAreIgnoredAndRemovedByTheNextWrite) {
  write(10);
  overwrite("tmp-a-step-20/model", "half");
  overwrite("tmp-crashed.1-step-20/model", "half");
  overwrite("tmp-crashed.1-gone-step-5/model", "half");
  overwrite("tmp-busy.1-step-30/model", "half");
  overwrite("tmp-a-latest-step-20", "st");
  expect_restored(10, restore());
  write(20);
  EXPECT_THAT(names(), ElementsAre("latest", "step-10", "step-20", "tmp-busy.1-step-30"))
      << "a newer one may still be at work";
}

TEST_F(SnapshotTest, OtherNamesInTheFolderAreLeftAlone) {
  for (const char* name : {"notes", "step-007", "step-x", "best-step-3"}) overwrite(name, "x");
  for (const std::uint64_t step : {10, 20, 30}) write(step);
  EXPECT_THAT(names(), ElementsAre("best-step-3", "latest", "notes", "step-007", "step-20",
                                   "step-30", "step-x"));
  EXPECT_THAT(restore().warnings, IsEmpty());
}

TEST_F(SnapshotTest, ASlowWriterDoesNotMoveLatestBack) {
  SnapshotStore slow(env, files, options_for("slow"));
  write(20);
  run(write_step(slow, Step(10), "slow"));
  EXPECT_EQ(read_text(files, at("latest")), "step-20\n");
  expect_restored(20, restore());
}

TEST_F(SnapshotTest, AFullDiskIsAnErrorAndLeavesTheOlderOnes) {
  write(10);
  disk.limit_capacity(disk.used() + Bytes(500));
  const std::string error = error_of(write_step(store, Step(20), "a"));
  EXPECT_THAT(error, AllOf(HasSubstr("tmp-a-step-20/optimizer"), HasSubstr("needs 300 bytes")));
  EXPECT_THAT(names(), ElementsAre("latest", "step-10")) << "what was half written takes no space";
  EXPECT_THAT(restore().warnings, IsEmpty());
  expect_restored(10, restore());
  disk.limit_capacity(Bytes(1'000'000));
  write(20);
  expect_restored(20, restore());
}

TEST_F(SnapshotTest, TheJobsFolderItselfCanHoldThem) {
  SnapshotOptions options = options_for("a");
  options.folder = "";
  SnapshotStore top(env, files, options);
  run(write_step(top, Step(1), "a"));
  expect_restored(1, run(top.read_latest()));
}

}  // namespace
}  // namespace shoal
