#include "sim/sim_files.h"

#include <set>

#include "support/files_suite.h"

namespace shoal {
namespace {

constexpr NodeId kNode{0};
constexpr NodeId kOther{1};
constexpr std::uint64_t kSeeds = 200;

struct SimWorld {
  explicit SimWorld(Seed seed = Seed(1)) : disk(seed) {}
  Files& files() { return own; }
  void write(std::string path, std::string_view text) { write_text(own, std::move(path), text); }
  void sync(std::string path) { run(own.sync(std::move(path))); }
  std::string text(std::string path) { return read_text(own, std::move(path)); }
  std::vector<std::string> list(std::string folder) { return run(own.list(std::move(folder))); }

  InlineEnv env;
  SimDisk disk;
  SimFiles own{disk, env, kNode};
  SimFiles other{disk, env, kOther};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sim, FilesSuite, SimWorld);

// The outcomes of a story over all seeds.
template <class Story>
std::set<std::string> ends_of(Story story) {
  std::set<std::string> ends;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimWorld world{Seed(seed)};
    ends.insert(story(world));
  }
  return ends;
}

TEST(SimFiles, WhatIsSyncedIsNeverLost) {
  EXPECT_THAT(ends_of([](SimWorld& w) {
                w.write("f/x", "content");
                w.sync("f/x");
                w.sync("f");
                w.sync("");
                EXPECT_EQ(w.disk.crash(kNode), 0U);
                return w.text("f/x");
              }),
              testing::ElementsAre("content"));
}

TEST(SimFiles, UnsyncedContentStaysOldOrIsTornOrSurvives) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    w.write("x", "old");
    w.sync("x");
    w.sync("");
    w.write("x", "12345");
    EXPECT_EQ(w.text("x"), "12345");
    const std::size_t hit = w.disk.crash(kNode);
    const std::string end = w.text("x");
    EXPECT_EQ(hit, end == "12345" ? 0U : 1U);
    // A second crash loses nothing more.
    EXPECT_EQ(w.disk.crash(kNode), 0U);
    EXPECT_EQ(w.text("x"), end);
    return end;
  });
  const std::string zeros(5, '\0');
  std::set<std::string> expected = {"old", "12345"};
  for (std::size_t n = 0; n < 5; ++n) {
    expected.insert(std::string("12345").substr(0, n));
    expected.insert(std::string("12345").substr(0, n) + zeros.substr(n));
  }
  EXPECT_EQ(ends, expected);
}

TEST(SimFiles, OfUnsyncedAppendsAnyBeginningSurvivesAndWhatWasSyncedStays) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    w.write("x", "old");
    w.sync("x");
    w.sync("");
    append_text(w.own, "x", "12");
    append_text(w.own, "x", "34");
    EXPECT_EQ(w.text("x"), "old1234");
    const std::size_t hit = w.disk.crash(kNode);
    const std::string end = w.text("x");
    EXPECT_EQ(hit, end == "old1234" ? 0U : 1U);
    EXPECT_EQ(w.disk.crash(kNode), 0U) << "a second crash finds nothing left to lose";
    // The next life appends after the remaining data.
    append_text(w.own, "x", "!");
    EXPECT_EQ(w.text("x"), end + "!");
    return end;
  });
  const std::string zeros(4, '\0');
  std::set<std::string> expected = {"old1234"};
  for (std::size_t n = 0; n < 4; ++n) {
    expected.insert("old" + std::string("1234").substr(0, n));
    expected.insert("old" + std::string("1234").substr(0, n) + zeros.substr(n));
  }
  EXPECT_EQ(ends, expected);
}

TEST(SimFiles, AnAppendToWhatWasReplacedCanLoseBoth) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    w.write("x", "old");
    w.sync("x");
    w.sync("");
    w.write("x", "ne");
    append_text(w.own, "x", "w");
    w.disk.crash(kNode);
    return w.text("x");
  });
  EXPECT_THAT(ends, testing::IsSupersetOf({"old", "new", "ne", "n", ""}));
}

TEST(SimFiles, NodesThatAppendToOneFileLoseOnlyTheirOwnTail) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    append_text(w.other, "x", "other ");
    append_text(w.own, "x", "own");
    w.disk.crash(kNode);
    return w.text("x").substr(0, 6);
  });
  EXPECT_THAT(ends, testing::ElementsAre("other "));
}

TEST(SimFiles, NamesSurviveAsAPrefixOfWhatHappened) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    for (const char* name : {"f/a", "f/b", "f/c"}) {
      w.write(name, "x");
      w.sync(name);
    }
    w.sync("");  // f itself; not the names in it.
    run(w.own.rename("f/b", "f/d"));
    w.disk.crash(kNode);
    std::string names;
    for (const std::string& name : w.list("f")) {
      names += name;
      EXPECT_EQ(w.text("f/" + name), "x") << "synced content goes with its name, whatever that is";
    }
    return names;
  });
  EXPECT_THAT(ends, testing::ElementsAre("", "a", "ab", "abc", "acd"));
}

TEST(SimFiles, ARenameMaySurviveWithoutTheContent) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    w.write("x", "old");
    w.sync("x");
    w.sync("");
    w.write("tmp", "new");  // The bug: not synced before it is published.
    run(w.own.rename("tmp", "x"));
    w.sync("");
    w.disk.crash(kNode);
    return w.text("x");
  });
  EXPECT_THAT(ends, testing::AllOf(testing::Contains("new"), testing::Contains(""),
                                   testing::Contains("n"), testing::Contains("ne")));
  EXPECT_THAT(ends, testing::Not(testing::Contains("old")));
}

TEST(SimFiles, WithTheContentSyncedARenameGivesOldOrNew) {
  EXPECT_THAT(ends_of([](SimWorld& w) {
                w.write("x", "old");
                w.sync("x");
                w.sync("");
                w.write("tmp", "new");
                w.sync("tmp");
                run(w.own.rename("tmp", "x"));
                w.disk.crash(kNode);
                return w.text("x");
              }),
              testing::ElementsAre("new", "old"));
}

TEST(SimFiles, AFolderIsReachedOnlyByNamesThatAreDurable) {
  EXPECT_THAT(ends_of([](SimWorld& w) {
                w.write("f/x", "x");
                w.sync("f/x");
                w.sync("f");  // The name f in the job's folder is not synced.
                w.disk.crash(kNode);
                return std::string(w.list("").empty() ? "lost" : w.text("f/x"));
              }),
              testing::ElementsAre("lost", "x"));
}

TEST(SimFiles, ARenameBetweenFoldersSurvivesAsAWhole) {
  const auto where = [](SimWorld& w) {
    std::string names;
    for (const char* folder : {"f", "g"})
      for (const std::string& name : w.list(folder)) names += folder + ("/" + name);
    return names;
  };
  const auto prepare = [](SimWorld& w) {
    w.write("f/x", "x");
    w.write("g/y", "y");
    for (const char* path : {"f/x", "g/y", "f", "g", ""}) w.sync(path);
    run(w.own.remove("g/y"));
    run(w.own.rename("f/x", "g/x"));
  };
  EXPECT_THAT(ends_of([&](SimWorld& w) {
                prepare(w);
                w.disk.crash(kNode);
                return where(w);
              }),
              testing::ElementsAre("f/x", "f/xg/y", "g/x"));
  for (const char* folder : {"f", "g"}) {
    EXPECT_THAT(ends_of([&](SimWorld& w) {
                  prepare(w);
                  w.sync(folder);  // Also makes the other folder's earlier removal durable.
                  w.disk.crash(kNode);
                  return where(w);
                }),
                testing::ElementsAre("g/x"))
        << "sync of " << folder;
  }
}

TEST(SimFiles, ARemovalMayLeaveAFolderHalfEmptied) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    for (const char* path : {"f/a", "f/b"}) w.write(path, "");
    for (const char* path : {"f/a", "f/b", "f", ""}) w.sync(path);
    run(w.own.remove("f"));
    w.disk.crash(kNode);
    if (w.list("").empty()) return std::string("gone");
    std::string names;
    for (const std::string& name : w.list("f")) names += name;
    return names;
  });
  EXPECT_THAT(ends, testing::ElementsAre("", "ab", "b", "gone"));
}

TEST(SimFiles, ACrashLosesOnlyWhatThatNodeDid) {
  const std::set<std::string> ends = ends_of([](SimWorld& w) {
    w.write("f/own", "own");
    write_text(w.other, "f/other", "other");
    w.disk.crash(kNode);
    EXPECT_EQ(w.text("f/other"), "other") << "the other node still has it in memory";
    std::string names;
    for (const std::string& name : w.list("f")) names += name;
    w.disk.crash(kOther);
    return names;
  });
  EXPECT_THAT(ends, testing::ElementsAre("other", "otherown"));
}

TEST(SimFiles, OneSeedHasOneEnd) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    std::string ends[2];
    for (std::string& end : ends) {
      SimWorld w{Seed(seed)};
      for (const char* path : {"a", "f/b", "f/c", "g/d"}) w.write(path, path);
      run(w.own.rename("f", "h"));
      end = std::to_string(w.disk.crash(kNode));
      for (const std::string& folder : w.list(""))
        end += folder + std::to_string(w.disk.used().value());
    }
    EXPECT_EQ(ends[0], ends[1]) << "seed " << seed;
  }
}

TEST(SimFiles, AHookSeesEachCallFirstAndCanStopIt) {
  SimWorld w;
  std::vector<std::uint64_t> calls;
  w.disk.on_call([&](std::uint64_t call) {
    calls.push_back(call);
    if (call == 2) throw std::runtime_error("crash");
  });
  w.write("a", "1");
  w.sync("a");
  EXPECT_THROW(w.write("a", "2"), std::runtime_error);
  EXPECT_EQ(w.text("a"), "1");
  EXPECT_THAT(calls, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(w.disk.calls(), 4U);
}

TEST(SimFiles, AFullDiskSaysWhatIsNeededAndWhatIsFree) {
  SimWorld w;
  w.disk.limit_capacity(Bytes(10));
  w.write("f/a", "1234567");
  EXPECT_EQ(w.disk.used(), Bytes(7));
  EXPECT_THAT(error_of(w.own.write("f/b", text_buf("12345"))),
              testing::AllOf(testing::HasSubstr("f/b"), testing::HasSubstr("needs 5 bytes"),
                             testing::HasSubstr("3 are free")));
  EXPECT_EQ(w.text("f/b"), "123") << "what fitted is there, as on a real disk";
  EXPECT_THAT(error_of(w.own.append("f/a", text_buf("8"))), testing::HasSubstr("0 are free"));
  run(w.own.remove("f/b"));
  w.write("f/a", "1234567890");  // Replacing a file frees its old content first.
  EXPECT_EQ(w.disk.used(), Bytes(10));
}

TEST(SimFiles, EveryFileIsVisitedInTheOrderOfItsPath) {
  SimWorld w;
  w.write("run/b", "two");
  w.write("run/a/deep", "one");
  w.write("z", "");
  std::string seen;
  w.disk.each_file([&](const std::string& path, std::span<const std::byte> content) {
    seen += fmt::format("{} {}; ", path, content.size());
  });
  EXPECT_EQ(seen, "run/a/deep 3; run/b 3; z 0; ");
  EXPECT_EQ(w.disk.used(), Bytes(6));
}

TEST(SimFiles, APhantomCostsItsTimeAndLeavesAnEmptyFile) {
  SimWorld w;
  ConstBuf phantom;
  phantom.size = Bytes(1'000'000'000);
  run(w.own.write("a", phantom));
  EXPECT_EQ(w.text("a"), "");
  run(w.own.append("a", phantom));
  EXPECT_EQ(w.text("a"), "");
}

}  // namespace
}  // namespace shoal
