// Snapshots on a real disk, by the live event loop. The simulated disk shows the effects of a
// machine crash (snapshot_crash_test.cc); a killed process loses nothing that it has written.
#include "checkpoint/snapshot_world.h"
#include "runtime/live/compute_thread.h"
#include "runtime/live/live_env.h"
#include "runtime/live/loop.h"
#include "runtime/live/posix_files.h"
#include "support/temporary_folder.h"

namespace shoal {
namespace {

// The parameter: on the compute thread, or inline.
class SnapshotLive : public testing::TestWithParam<bool> {
 protected:
  SnapshotLive() {
    LiveEnvOptions options;
    if (GetParam()) options.compute = &compute_;
    env.emplace(loop, options);
    files.emplace(*env, folder.path() / "job");
  }

  TemporaryFolder folder;
  LiveLoop loop;
  std::optional<LiveEnv> env;
  std::optional<PosixFiles> files;

 private:
  ComputeThread compute_;
};

TEST_P(SnapshotLive, AreWrittenRestoredAndFallenBackFrom) {
  SnapshotStore store(*env, *files, options_for("a"));
  const auto story = [](SnapshotStore& snapshots, std::filesystem::path disk) -> Task<void> {
    for (const std::uint64_t step : {10, 20, 30}) co_await write_step(snapshots, Step(step), "a");
    Restored restored = co_await snapshots.read_latest();
    EXPECT_TRUE(restored.snapshot.has_value());
    if (!restored.snapshot) co_return;
    EXPECT_EQ(restored.snapshot->step, Step(30));
    expect_whole(*restored.snapshot);
    EXPECT_THAT(restored.warnings, testing::IsEmpty());

    std::filesystem::resize_file(disk / "step-30/optimizer", 299);
    restored = co_await snapshots.read_latest();
    EXPECT_TRUE(restored.snapshot.has_value());
    if (!restored.snapshot) co_return;
    EXPECT_EQ(restored.snapshot->step, Step(20));
    EXPECT_THAT(
        restored.warnings,
        testing::ElementsAre(testing::HasSubstr("run/checkpoint/step-30/optimizer has 299 bytes")));
    co_await write_step(snapshots, Step(40), "a");
  };
  run_task(loop, story(store, folder.path() / "job" / kFolder));
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "job" / kFolder))
    names.insert(entry.path().filename());
  EXPECT_THAT(names, testing::ElementsAre("latest", "step-20", "step-40"));
}

INSTANTIATE_TEST_SUITE_P(Policy, SnapshotLive, testing::Bool());

}  // namespace
}  // namespace shoal
