#include "runtime/live/posix_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>
#include <vector>

#include "support/files_suite.h"
#include "support/temporary_folder.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

struct PosixWorld {
  Files& files() { return posix; }
  TemporaryFolder folder;
  InlineEnv env;
  PosixFiles posix{env, folder.path() / "run"};
};

INSTANTIATE_TYPED_TEST_SUITE_P(Posix, FilesSuite, PosixWorld);

TEST(PosixFiles, LiveBelowTheirFolder) {
  TemporaryFolder folder;
  InlineEnv env;
  for (const char* root : {"new/deep", "new/deep/", "new/./other"}) {
    PosixFiles files(env, folder.path() / root);
    write_text(files, "f/x", root);
    EXPECT_EQ(read_text(files, "f/x"), root);
    EXPECT_TRUE(fs::exists(folder.path() / root / "f/x"));
  }
}

TEST(PosixFiles, AFolderThatCannotBeMadeIsNamed) {
  InlineEnv env;
  try {
    PosixFiles files(env, "/dev/null/run");
    FAIL() << "made a folder in /dev/null";
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/dev/null/run"));
  }
}

TEST(PosixFiles, RemovingALinkLeavesWhatItPointsTo) {
  PosixWorld w;
  fs::create_directory(w.folder.path() / "outside");
  write_text(w.posix, "f/x", "x");
  fs::create_directory_symlink(w.folder.path() / "outside", w.folder.path() / "run/f/link");
  write_text(w.posix, "f/link/kept", "kept");
  run(w.posix.remove("f"));
  EXPECT_TRUE(fs::exists(w.folder.path() / "outside/kept"));
  EXPECT_FALSE(fs::exists(w.folder.path() / "run/f"));
}

TEST(PosixFiles, AFullDiskIsExplained) {
  PosixWorld w;
  fs::create_symlink("/dev/full", w.folder.path() / "run/full");
  EXPECT_THAT(error_of(w.posix.write("full", text_buf("x"))),
              testing::AllOf(testing::HasSubstr("run/full"), testing::HasSubstr("No space left"),
                             testing::HasSubstr("bytes are free"), testing::HasSubstr("--out")));
  EXPECT_THAT(error_of(w.posix.append("full", text_buf("x"))),
              testing::AllOf(testing::HasSubstr("append"), testing::HasSubstr("No space left")));
}

// A regression: a reader of the file's last byte, during another's write, began an empty line.
TEST(PosixFiles, LinesOfManyWritersAtOnceLeaveNoEmptyOnes) {
  PosixWorld w;
  constexpr int kWriters = 8, kTimes = 40;
  const std::string line = std::string(20000, 'x') + "\n";
  {
    std::vector<std::jthread> writers;
    writers.reserve(kWriters);
    for (int i = 0; i < kWriters; ++i)
      writers.emplace_back([&] {
        InlineEnv env;
        PosixFiles files(env, w.folder.path() / "run");
        for (int k = 0; k < kTimes; ++k) run(files.append_lines("log", text_buf(line)));
      });
  }
  std::string all;
  for (int i = 0; i < kWriters * kTimes; ++i) all += line;
  EXPECT_EQ(read_text(w.posix, "log"), all);
}

TEST(PosixFiles, WhoeverIsFrozenWhileItWritesLinesKeepsNobodyWaiting) {
  PosixWorld w;
  run(w.posix.append_lines("log", text_buf("one\n")));
  const int frozen = ::open((w.folder.path() / "run/log").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(frozen, LOCK_EX), 0);
  run(w.posix.append_lines("log", text_buf("two\n")));
  ::close(frozen);
  EXPECT_EQ(read_text(w.posix, "log"), "one\ntwo\n");
}

TEST(PosixFiles, AWriteThatStopsHalfwayIsAnError) {
  PosixWorld w;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 1000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string text(3000, 'x');
  const std::string error = error_of(w.posix.write("x", text_buf(text)));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error, testing::AllOf(testing::HasSubstr("run/x"), testing::HasSubstr("too large")));
}

TEST(PosixFiles, TheDescriptorIsClosedWhenACallFails) {
  PosixWorld w;
  const auto open = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open();
  fs::create_symlink("/dev/full", w.folder.path() / "run/full");
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(error_of(w.posix.write("full", text_buf("x"))), "");
    EXPECT_NE(error_of(w.posix.read(".")), "");
  }
  EXPECT_EQ(open(), before);
}

}  // namespace
}  // namespace shoal
