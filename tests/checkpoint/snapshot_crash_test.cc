// The rule: once write() is done, a read after any crash at any time returns that step or a newer
// one, and never a partially written one.
#include <algorithm>
#include <set>

#include "checkpoint/snapshot_world.h"
#include "support/files_text.h"
#include "support/hooked_files.h"

namespace shoal {
namespace {

constexpr NodeId kOther{1};

// Not an Error: a dead node handles nothing.
struct Died : std::exception {};

struct Disk {
  explicit Disk(Seed seed) : disk(seed) {}
  InlineEnv env;
  SimDisk disk;
  SimFiles files{disk, env, kNode};
};

// Writes steps 10, 20, 30 and notes the last completed one; ends quietly when the node dies.
void write_three(Files& files, Env& env, Step& completed) {
  SnapshotStore store(env, files, options_for("a"));
  try {
    for (const std::uint64_t step : {10, 20, 30}) {
      run(write_step(store, Step(step), "a"));
      completed = Step(step);
    }
  } catch (const Died&) {
  }
}

void expect_rule(const Restored& restored, Step completed) {
  if (completed > Step(0)) {
    ASSERT_TRUE(restored.snapshot.has_value());
    EXPECT_GE(restored.snapshot->step, completed);
    EXPECT_THAT(restored.warnings, testing::IsEmpty());
  }
  if (restored.snapshot) {
    EXPECT_LE(restored.snapshot->step, completed + Step(10)) << "that was never begun";
    expect_whole(*restored.snapshot);
  }
}

// The node restarts, restores, writes one more snapshot, and then loses power.
void expect_goes_on(Disk& w, Step completed) {
  SnapshotStore store(w.env, w.files, options_for("a"));
  expect_rule(run(store.read_latest()), completed);
  run(write_step(store, Step(40), "a"));
  w.disk.crash(kNode);
  const Restored last = run(store.read_latest());
  ASSERT_TRUE(last.snapshot.has_value());
  EXPECT_EQ(last.snapshot->step, Step(40));
  EXPECT_THAT(last.warnings, testing::IsEmpty());
  EXPECT_EQ(read_text(w.files, std::string(kFolder) + "/latest"), "step-40\n");
}

// A power loss may lose what was not synced; without it (kill) everything stays.
void crash_at_every_call(std::uint64_t seeds, bool power_loss) {
  std::set<Step> ends;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    bool died = true;
    for (std::uint64_t at = 0; died; ++at) {
      SCOPED_TRACE(fmt::format("seed {}, crash at call {}", seed, at));
      Disk w{Seed(seed)};
      died = false;
      w.disk.on_call([&](std::uint64_t call) {
        if (call < at) return;
        if (!died && power_loss) w.disk.crash(kNode);
        died = true;
        throw Died();
      });
      Step completed;
      write_three(w.files, w.env, completed);
      w.disk.on_call(nullptr);
      ends.insert(completed);
      expect_goes_on(w, completed);
      if (testing::Test::HasFailure()) return;
    }
  }
  EXPECT_THAT(ends, testing::ElementsAre(Step(0), Step(10), Step(20), Step(30)));
}

TEST(SnapshotCrash, PowerLossAtEveryCall) { crash_at_every_call(20, true); }
TEST(SnapshotCrash, KillAtEveryCall) { crash_at_every_call(1, false); }

// The tests above would notice a missing sync: leaving out any one of them causes a loss, a torn
// file or a wrong `latest` for some seed.
TEST(SnapshotCrash, EverySyncIsNeeded) {
  std::vector<std::string> paths;
  std::size_t left_out = 1000;
  const auto story = [&](Seed seed) {
    Disk w(seed);
    paths.clear();
    HookedFiles hooked(w.files, [&](std::string_view call, const std::string& path) {
      if (call != "sync") return true;
      paths.push_back(path);
      return paths.size() - 1 != left_out;
    });
    SnapshotStore store(w.env, hooked, options_for("a"));
    run(write_step(store, Step(10), "a"));
    w.disk.crash(kNode);
    const Restored restored = run(store.read_latest());
    const std::vector<std::string> names = run(w.files.list(std::string(kFolder)));
    const bool pointed = std::ranges::count(names, "latest") == 1;
    return restored.snapshot && restored.snapshot->step == Step(10) && restored.warnings.empty() &&
           pointed;
  };
  EXPECT_TRUE(story(Seed(0)));
  const std::size_t syncs = paths.size();
  ASSERT_EQ(syncs, 10U);
  for (left_out = 0; left_out < syncs; ++left_out) {
    bool held = true;
    for (std::uint64_t seed = 0; seed < 100; ++seed) held = story(Seed(seed)) && held;
    // The folder is synced once for step-10 and once for latest. Here the second sync covers the
    // first, which is needed on real disks: they do not promise to keep the order of two renames.
    const bool covered =
        paths[left_out] == kFolder && paths.back() == kFolder && left_out + 1 < syncs;
    EXPECT_EQ(held, covered) << "sync " << left_out << " of " << paths[left_out];
  }
}

// Two writers and a reader at once, in an order drawn from the seed; `kNode` may die meanwhile.
class Together {
 public:
  explicit Together(std::uint64_t seed)
      : random_(Seed(seed), Purpose::Test),
        disk_(Seed(seed)),
        a_(disk_, env_, kNode),
        b_(disk_, env_, kOther) {
    if (random_.chance(0.7)) dies_at_ = random_.below(150);
  }

  void run_all() {
    HookedFiles a(a_, [&](std::string_view, const std::string&) {
      if (calls_of_a_++ < dies_at_) return true;
      if (!dead) disk_.crash(kNode);
      dead = true;
      throw Died();
    });
    HookedFiles b(b_, [](std::string_view, const std::string&) { return true; });
    HookedFiles c(b_, [](std::string_view, const std::string&) { return true; });
    for (HookedFiles* files : {&a, &b, &c}) files->dawdle(random_, random_.below(12));
    auto body = [&](TaskGroup& group) -> Task<void> {
      group.spawn(write_many(a, "a", random_.between(1, 3) * 5));
      group.spawn(write_many(b, "b", random_.between(1, 3) * 5));
      group.spawn(read_many(c));
      co_return;
    };
    run(with_group(body));
    disk_.crash(kNode);
    disk_.crash(kOther);
    SnapshotStore store(env_, b_, options_for("c"));
    const Restored restored = run(store.read_latest());
    ASSERT_TRUE(restored.snapshot.has_value());
    EXPECT_GE(restored.snapshot->step, completed_);
    expect_whole(*restored.snapshot);
    by = text_of(*restored.snapshot, "by");
  }

  bool dead = false;
  std::string by;

 private:
  Task<void> write_many(Files& files, std::string writer, std::uint64_t apart) {
    SnapshotStore store(env_, files, options_for(writer));
    try {
      for (std::uint64_t step = apart; step <= 30; step += apart) {
        co_await write_step(store, Step(step), writer);
        completed_ = std::max(completed_, Step(step));
      }
    } catch (const Died&) {
    }
  }
  Task<void> read_many(Files& files) {
    SnapshotStore store(env_, files, options_for("reader"));
    for (int i = 0; i < 8; ++i) {
      const Step completed = completed_;
      const Restored restored = co_await store.read_latest();
      if (completed == Step(0)) continue;
      EXPECT_TRUE(restored.snapshot.has_value());
      if (!restored.snapshot) co_return;
      EXPECT_GE(restored.snapshot->step, completed);
      expect_whole(*restored.snapshot);
    }
  }

  Random random_;
  InlineEnv env_;
  SimDisk disk_;
  SimFiles a_, b_;
  std::uint64_t calls_of_a_ = 0;
  std::uint64_t dies_at_ = ~std::uint64_t{0};
  Step completed_;
};

TEST(SnapshotCrash, TwoWritersAndAReaderAtOnce) {
  std::size_t deaths = 0;
  std::set<std::string> winners;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Together together(seed);
    together.run_all();
    if (testing::Test::HasFailure()) return;
    deaths += together.dead ? 1 : 0;
    winners.insert(together.by);
  }
  EXPECT_GT(deaths, 100U);
  EXPECT_THAT(winners, testing::ElementsAre("a", "b"));
}

}  // namespace
}  // namespace shoal
